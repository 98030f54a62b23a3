"""What the instructor learns from a round.

`record` is what is known of a round; `reader` makes the record from the store. Everything else is computed from the
record: `items` (questions), `learners`, `revision` (what to go over again) and `comparison` (two rounds). `findings` is
all of that together, with a verdict. `rows`, `spreadsheets` and `report` write it down. `removal` removes a learner's
data.
"""
