"""A rank's part in a run: it trains its institutions and compares ways of learning."""
