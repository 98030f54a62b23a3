"""Grids: all combinations of some values, each as an ordinary run; also sampled, also described in a file."""
