"""One processor to its limit as a guided study: `steps.yaml` has its steps as data, `guide` the cells and verdicts of a
step, and `cards`, `page` and `command` show and run it."""
