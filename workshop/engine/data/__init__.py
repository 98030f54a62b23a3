"""Data sets, and the share of them that each rank owns."""
