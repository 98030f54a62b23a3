"""Plotly figures: pure functions of records, used by pages, notebooks and reports alike."""
