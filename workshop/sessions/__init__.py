"""Sessions: the conductor that owns a cluster, and the client's side of it.

The client's side: `client` submits runs, waits for them and cancels them; `lifecycle` starts, stops and cleans up
sessions. The conductor's side: `conductor` is the life of a session and its runs, or of a notebook's ranks; `cluster`
has the controller and the `engines`; `channel` receives what ranks tell; `run_monitor` watches one run until it ended,
and `memory_monitor` its memory; `measurement_lock` lets one process of the machine measure at a time, and says which.
Where ranks run: `launchers` for this machine, hosts over ssh, and Slurm; `preflight` asks a host whether it is fit;
`fork` starts ranks of this machine. `leftovers`: what killed ranks leave on this machine. `supervisor`: what `workshop
up` keeps running.
"""
