"""The tuner: an ordinary study whose next trial depends on what the earlier ones have found."""
