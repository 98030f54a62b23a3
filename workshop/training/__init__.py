"""Reports on data-parallel training, for every workload that trains with `workshop.engine.training`.

`verdict` has the `Verdict` of such a workload, with the faults of its recipe, and `panels` its panels. `facts` says
what a training run is, `outcome`, `divergence`, `timing`, `waits` and `time_use` find something in its metrics,
`timeline` draws a figure.
"""
