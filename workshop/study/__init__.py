"""Studies: runs that are compared with each other, planned, run one after the other and reported."""
