"""Arithmetic of a federation: pure functions of arrays, params and seeds."""
