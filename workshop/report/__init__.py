"""Reports on runs, studies and sessions, for every front end.

`snapshot` reads a run. `analysis` has pure functions that find something in records and events;
`verdict` puts findings into *Verdict, Why, Next*. `figures` has pure functions from records to Plotly figures, with one
theme. `cards` are what pages show; `panels` make cards from a snapshot; `run_sections` puts them together for live
pages, and `machine_picture` draws a machine with its ranks. `html` and `terminal` are the two renderers of cards;
`sentences` and `actions` have what all of them say alike. `failures` are
placements that go wrong on purpose, which workloads bring.
"""
