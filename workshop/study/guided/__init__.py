"""Guided studies: sequences of steps. Each step is a grid that may take the best of an earlier one. Learners predict
the result of a step before they see it.

A guided study is data: the `steps.yaml` of a package, whose fields `plan` describes. `step_results` has the cells of a
step, their results, and the facts from which its rules make the verdict. `kind` chooses the next trials and judges the
learners' guesses, and `cards` show a study.
"""
