"""Findings about a run, as pure functions of records and events: balance, oversubscription, waiting, training."""
