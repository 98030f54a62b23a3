"""Ranks that are forked, on this machine, by a process that has imported already what they import."""
