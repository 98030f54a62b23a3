"""Teaching distributed training on real MPI sessions."""
