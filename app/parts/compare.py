"""Two runs side by side: what was set differently, what came out, where the time went."""

from __future__ import annotations

from typing import Any

import streamlit as st

from workshop.pages import cards, frame, links
from workshop.report.figures.curves import by_time, overlay
from workshop.report.panels import side_by_side
from workshop.report.panels.run_metrics import HELD_OUT, curve_names
from workshop.report.snapshot import Snapshot
from workshop.report.wording import metrics, seen, who
from workshop.store.records import RunRecord

STEP, TIME = "by step", "by time"


def compare(left: RunRecord, right: RunRecord) -> None:
    """Show both runs as far as they have told something."""
    pair = (left, right)
    sights = tuple(Snapshot(frame.store(), run) for run in pair)
    for column, run in zip(st.columns(2, gap="medium"), pair, strict=True):
        with column, st.container(border=True):
            links.run_link(run.id, f"**Run {run.id}** · {run.workload} · {frame.plain(who(run))}", icon=None)
            said = run.verdict or {"verdict": run.status.capitalize(), "why": "", "next": ""}
            st.markdown(f"##### {frame.plain(said['verdict'])}\n\n{frame.plain(said['why'])}")
    _set_differently(left, right)
    _curves(sights)
    _cards(sights)
    _came_out(left, right)


def differing(left: dict[str, Any], right: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The settings that differ, with both values."""
    names = [*left, *(name for name in right if name not in left)]
    return [
        (name, _word(left.get(name)), _word(right.get(name))) for name in names if left.get(name) != right.get(name)
    ]


def _word(value: Any) -> str:
    return "–" if value is None else str(value)


def _set_differently(left: RunRecord, right: RunRecord) -> None:
    st.markdown("#### Set differently")
    params = [seen(run).params for run in (left, right)]
    rows = differing(*params) + differing(left.placement, right.placement)
    if rows:
        _two_columns(rows, left, right)
    else:
        st.markdown("Nothing: whatever differs is chance, or the machine.")


def _came_out(left: RunRecord, right: RunRecord) -> None:
    """What differs, and behind a fold what doesn't."""
    values = [{shown["label"]: shown["value"] for shown in metrics(run.metrics)} for run in (left, right)]
    rows = [(name, values[0].get(name, "–"), values[1].get(name, "–")) for name in {**values[0], **values[1]}]
    st.markdown("#### What came out")
    if not rows:
        st.markdown("Neither has come to an end with results.")
        return
    different = [row for row in rows if row[1] != row[2]]
    same = [row for row in rows if row[1] == row[2]]
    if different:
        _two_columns(different, left, right)
    if same:
        with st.expander(f"The same in both: {len(same)}"):
            _two_columns(same, left, right)


def _two_columns(rows: list[tuple[str, str, str]], left: RunRecord, right: RunRecord) -> None:
    cards.table(["", f"run {left.id}", f"run {right.id}"], rows)


def _curves(sights: tuple[Snapshot, ...]) -> None:
    """The curves of both in one plot each, in the order of their workload."""
    names = list(dict.fromkeys(name for snapshot in sights for name in curve_names(snapshot.workload, snapshot.totals)))
    if not names:
        return
    by = st.segmented_control("Curves", [STEP, TIME], default=STEP, required=True, label_visibility="collapsed")
    began = {_label(snapshot): snapshot.began for snapshot in sights if snapshot.began is not None}
    for start in range(0, len(names), 2):
        for column, name in zip(st.columns(2, gap="medium"), names[start : start + 2], strict=False):
            runs = {_label(snapshot): snapshot.series(name) for snapshot in sights}
            held_out = {_label(snapshot): snapshot.series(HELD_OUT + name) for snapshot in sights}
            drawn = overlay(runs, held_out, began)
            with column:
                st.markdown(f"#### {frame.plain(name[0].upper() + name[1:])}")
                st.plotly_chart(by_time(drawn) if by == TIME else drawn, key=f"overlay-{name}", **cards.FIGURE)


def _cards(sights: tuple[Snapshot, ...]) -> None:
    """The same card of both runs beside each other."""
    of_runs = [{card.name: card for card in side_by_side(snapshot)} for snapshot in sights]
    for name in {**of_runs[0], **of_runs[1]}:
        for column, of_run, snapshot in zip(st.columns(2, gap="medium"), of_runs, sights, strict=True):
            with column:
                if name in of_run:
                    cards.show(of_run[name], f"run-{snapshot.run.id}")


def _label(snapshot: Snapshot) -> str:
    return f"run {snapshot.run.id}"
