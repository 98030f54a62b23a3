"""Guided studies: a sequence of steps, each of them a grid that is planned from what the steps before it have found.

Learners predict what comes out of a step before it is shown. A capability brings a guided study as a `guide.Guide`: its
steps as data (`steps`), the cells of a step, its verdicts and its answers. Everything else is here.

`plan` is what a study is asked for and begins it, `grid` has the points of a step, `placements` where its ranks run.
`trials` says which trials a step still wants, `step_results` holds what has been measured, and `chance` tells which
differences are more than chance. `questions` and `guesses` are what learners are asked and how near they came. `kind`
makes a kind of study of a guide; `cards` and `terminal` show it.
"""
