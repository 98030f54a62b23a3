"""One module per MPI: its command line, its reports, its quirks, its prefix."""
