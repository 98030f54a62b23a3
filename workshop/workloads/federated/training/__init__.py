"""What a rank does in a run: institutions learn, and ways of learning are compared."""
