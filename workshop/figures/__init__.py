"""Plotly figures: pure functions of records, used by dashboard, notebooks and reports alike."""
