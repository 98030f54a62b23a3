"""Where ranks are started: on this machine, on several hosts over ssh, by Slurm."""
