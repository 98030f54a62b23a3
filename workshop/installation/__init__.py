"""What an installation does behind uv: what it compiles ahead, and Horovod."""
