"""Reports on data-parallel training, for every workload that trains with `workshop.engine.training`.

`rules.yaml` says what such a run means, with the faults of its recipe, and `panels` has its panels. `facts` finds
something in a run's metrics, whose names docs/extending.md lists.
"""
