"""Where ranks are started: on this machine, on several hosts over ssh (`ssh`), by Slurm (`slurm`). `site` describes
their common interface."""
