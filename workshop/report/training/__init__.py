"""Reports on data-parallel training, for every workload that trains with `workshop.engine.training`.

`verdict` has the `Verdict` of such a workload, with the faults of its recipe, and `panels` its panels. `outcome`,
`waits` and `time_use` find something in a run's metrics, `timeline` draws a figure.
"""
