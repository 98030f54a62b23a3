"""Sessions: the conductor that owns a cluster, and the client's side of it.

The client's side: `client` submits runs, waits for them and cancels them; `lifecycle` starts, stops and cleans up
sessions; `background` provides a session for a run whose command doesn't wait; `replay` opens a recorded session. The
conductor's side: `conductor` is the life of a session and its runs, or of a notebook's ranks; `cluster` has the
controller and the `engines`; `channel` receives what ranks tell; `run_monitor` watches one run until it ended;
`measurement_lock` lets one process of the machine measure at a time, and says which. Where ranks run: `launchers` for
this machine, hosts over ssh, and Slurm; `preflight` asks a host whether it is fit; `fork` starts ranks of this machine.
Monitors: `memory_monitor` with `memory_policy`, `exit_watcher`, `watchdog`. Remains of ranks on this machine:
`shared_memory`, `temporary_folders`. What `workshop up` keeps running: `supervisor` with `managed_processes`.
"""
