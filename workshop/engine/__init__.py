"""The part of the package that runs on ranks.

`context` is a workload's access to its rank, `reporter` sends its events to the conductor and brings back the wish to
stop, `host` is the program of a session's rank, and `python -m workshop.engine` runs a workload under plain mpirun.
`data` reads arrays and shares examples among ranks. `training` trains any Keras model data-parallel: `exchange`
(communication) apart from `step`, `loop`, `batches` and `step_report` (arithmetic). `cells` runs a notebook's cells on
ranks. `tensorflow` says how it runs on a rank; `threads` counts threads by their libraries,
`failure` describes an error, and `fields` are params of several workloads.
"""
