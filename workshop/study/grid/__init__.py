"""Grids: every combination of some values, each an ordinary run; also sampled, also described in a file."""
