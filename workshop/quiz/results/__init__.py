"""The results of a round for the instructor.

`reader` reads a round from the store into a `record`. Everything else is computed from the record: `items` (questions),
`learners`, `revision` (questions to go over again) and `comparison` (two rounds). `findings` combines these with a
verdict. `cards` shows the findings; it and `spreadsheets` write them. `removal` deletes a learner's data.
"""
