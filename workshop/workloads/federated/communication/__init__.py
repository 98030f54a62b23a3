"""Messages between institutions and the aggregator."""
