"""Reports on runs, studies and sessions, for every front end.

`snapshot` reads a run. `analysis` finds something in records and events; `verdict` puts findings into *Verdict, Why,
Next*. `figures` makes Plotly figures of records. `panels` make cards from a snapshot; `run_sections` puts them together
for live pages. `html` and `terminal` render cards; `sentences` and `actions` have what all of them say alike.
"""
