"""Scaling: the same workload on several numbers of ranks."""
