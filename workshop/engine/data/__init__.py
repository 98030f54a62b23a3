"""Arrays in npz files, and the share of examples that each rank holds."""
