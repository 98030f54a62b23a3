"""What is kept: sessions, runs, events, artifacts, learners. Everybody else reads and writes through `Store`.

`store` joins one class for each kind of record, `records` is what everybody else sees, `tables` are the tables, and
`database` opens SQLite or PostgreSQL. `recording`, `recording_file` and `recorded` write and open recorded classes.
"""
