"""Guided studies: sequences of steps. Each step is a grid that is planned from the results of the steps before it.
Learners predict the result of a step before they see it.

A capability brings a guided study as a `guide.Guide`: its steps as data, the cells of a step, its verdicts and its
answers. The other modules are common: `plan` plans a study, with the points of a step and the places of its ranks.
`step_results` has the results and separates differences from chance. `guesses` has the questions to learners and
judges the guesses. `kind` makes a kind of study of a guide and chooses its next trials; `cards` show it.
"""
