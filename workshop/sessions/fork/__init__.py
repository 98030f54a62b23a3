"""Ranks of this machine that are forked by a process which has already imported their libraries.

The launcher starts a `stub` for each rank, `server` forks the rank, `child` reads the stub's request and
is what the rank does first, and `handle` is the conductor's end.
"""
