"""The results of a round for the instructor.

`reader` reads a round from the store into a `record`. Everything else is computed from the record: `answers` to a
question, `items` (questions) and `findings` (learners, questions to go over again, the verdict). `cards` shows the
findings; `spreadsheets` and `gradebook` write them.
"""
