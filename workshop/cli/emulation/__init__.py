"""Several hosts on one machine, for learners who have one machine, and for tests.

`hosts` makes them of `namespaces` and limits their links, `switch` runs their bridge, and `remote` stands in for
ssh. `session` is a session on these hosts.
"""
