"""Guided studies: sequences of steps. Each step is a grid that may take the best of an earlier one. Learners predict
the result of a step before they see it.

A guided study is data: the `steps.yaml` of a package, whose fields `guide` describes. `plan` plans a study. `cells` has
the cells of a step and their places. `step_results` has their results and the facts of a step, from which its rules
make the verdict. `guesses` judges the learners' guesses. `kind` chooses the next trials, and `cards` show a study.
"""
