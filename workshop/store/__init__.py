"""The database: sessions, runs, events, artifacts, learners. Everybody reads and writes it through `Store`.

`store` joins one class for each kind of record, `records` are the values that it returns, `tables` are the tables, and
`database` opens SQLite or PostgreSQL. `recording` writes and opens recorded classes.
"""
