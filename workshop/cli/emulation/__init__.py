"""Several hosts on one machine, for learners who have one machine, and for tests.

`hosts` makes them of `namespaces`, `switch` runs their bridge, `link` limits their links, and `remote` stands
in for ssh. `session` is a session on these hosts.
"""
