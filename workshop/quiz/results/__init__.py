"""The results of a round for the instructor.

`reader` reads a round from the store into a `record`, checks the rounds of recordings, and removes a learner's data.
Everything else is computed from the record: `items` (questions), `comparison` (two rounds) and `findings` (learners,
questions to go over again, the verdict). `cards` shows the findings; `report` and `spreadsheets` write them.
"""
