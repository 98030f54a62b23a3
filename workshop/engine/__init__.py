"""What runs on ranks.

`context` is what a workload is given, `reporter` sends its events to the conductor and brings back the wish to stop,
`host` is the program of a session's rank, and `python -m workshop.engine` runs a workload under plain mpirun. `data`
has data sets and what each rank owns of them. `training` trains any Keras model data-parallel: `exchange`
(communication) apart from `step`, `loop`, `batches` and `measure` (arithmetic). `cells` runs a notebook's cells on
ranks, with `pipes` for their output. `ipython`, `tensorflow` and `lean` say how these libraries run on a rank;
`threads` and `origins` count threads, `failing` describes an error, `library` the MPI, and `fields` are params of
several workloads.
"""
