"""Two runs side by side: what was set differently, what came out, where the time went."""

from __future__ import annotations

from typing import Any

import streamlit as st
from parts import frame

from workshop.analysis.balance import balance
from workshop.figures.curves import overlay
from workshop.figures.palette import palette_strip
from workshop.figures.times import rank_times
from workshop.store.records import RunRecord
from workshop.web import run_view
from workshop.web.words import metrics, who

FIGURE = {"theme": None, "config": {"displayModeBar": False}}


def compare(left: RunRecord, right: RunRecord) -> None:
    """Both runs, as far as they have told something."""
    pair = (left, right)
    for column, run in zip(st.columns(2, gap="medium"), pair, strict=True):
        with column, st.container(border=True):
            st.page_link(
                "views/run.py",
                label=f"**Run {run.id}** · {run.workload} · {frame.plain(who(run))}",
                query_params={"run": str(run.id)},
            )
            said = run.verdict or {"verdict": run.status.capitalize(), "why": "", "next": ""}
            st.markdown(f"##### {frame.plain(said['verdict'])}\n\n{frame.plain(said['why'])}")
    for column, run in zip(st.columns(2, gap="medium"), pair, strict=True):
        with column:
            _one(run)
    left_column, right_column = st.columns(2, gap="medium")
    with left_column:
        _set_differently(left, right)
        _curves(pair)
    with right_column:
        _came_out(left, right)


def differing(left: dict[str, Any], right: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Names and both values of what is not the same."""
    names = [*left, *(name for name in right if name not in left)]
    return [
        (name, _word(left.get(name)), _word(right.get(name))) for name in names if left.get(name) != right.get(name)
    ]


def _word(value: Any) -> str:
    return "–" if value is None else str(value)


def _set_differently(left: RunRecord, right: RunRecord) -> None:
    st.markdown("#### Set differently")
    rows = differing(left.params, right.params) + differing(left.placement, right.placement)
    if rows:
        _two_columns(rows, left, right)
    else:
        st.markdown("Nothing: whatever differs below is chance, or the machine.")


def _came_out(left: RunRecord, right: RunRecord) -> None:
    st.markdown("#### What came out")
    values = [{shown["label"]: shown["value"] for shown in metrics(run.metrics)} for run in (left, right)]
    rows = [(name, values[0].get(name, "–"), values[1].get(name, "–")) for name in {**values[0], **values[1]}]
    if rows:
        _two_columns(rows, left, right)
    else:
        st.markdown("Neither has come to an end with results.")


def _two_columns(rows: list[tuple[str, str, str]], left: RunRecord, right: RunRecord) -> None:
    lines = [f"| | run {left.id} | run {right.id} |", "|---|---|---|"]
    lines += [f"| {' | '.join(frame.plain(cell.replace(chr(10), ' ')) for cell in row)} |" for row in rows]
    st.markdown("\n".join(lines))


def _curves(pair: tuple[RunRecord, RunRecord]) -> None:
    store = frame.store()
    told = [{name for name in store.event_names(run.id) if not name.startswith("time.")} for run in pair]
    for name in sorted(told[0] | told[1])[: run_view.CURVES]:
        st.markdown(f"#### {frame.plain(name.capitalize())}")
        runs = {f"run {run.id}": store.series(run.id, name) for run in pair}
        st.plotly_chart(overlay(runs), key=f"overlay-{name}", **FIGURE)


def _one(run: RunRecord) -> None:
    store = frame.store()
    names = {artifact.name for artifact in store.artifacts(run.id)}
    after = next((name for name in run_view.AFTER if name in names), None)
    if after:
        st.image(store.artifact(run.id, after).data, width="stretch")
    if palette := run.metrics.get("palette"):
        st.plotly_chart(palette_strip(palette, run.metrics.get("sizes")), key=f"palette-{run.id}", **FIGURE)
    ranks = len((run.rank_map or {}).get("ranks") or []) or run.placement.get("ranks") or 1
    st.markdown("#### Where each rank's time went")
    st.plotly_chart(rank_times(balance(store.totals(run.id), ranks)), key=f"times-{run.id}", **FIGURE)
