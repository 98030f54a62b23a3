"""The built-in workloads: a folder for each, with all that belongs to it."""
