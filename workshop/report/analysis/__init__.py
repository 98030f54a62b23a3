"""Verdicts and reckonings: pure functions of records and events."""
