"""Runs side by side: how much faster one is, what was set differently, what came out, and each of their curves in one
plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.placement import Host, Placement
from workshop.registry import workload_title, workloads
from workshop.report.activity import duration
from workshop.report.figures.curves import overlay
from workshop.report.panels.run_metrics import HELD_OUT, curve_names
from workshop.report.sentences import metrics_of, public_view
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord

Row = tuple[str, ...]  # a name, and a value for each run
ABSENT = "–"


MOST = 5  # runs that are compared at a time
SAME = 0.05  # two times or rates whose difference is a smaller share count as the same


def ratios(baseline: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """A sentence for each other completed run: how its time and its throughput compare with those of the baseline."""
    return [sentence for run in others if (sentence := _ratio(baseline, run))]


def _ratio(baseline: RunRecord, run: RunRecord) -> str:
    if run.workload != baseline.workload:
        return f"Run {run.id} computes something else than run {baseline.id}, so their times say nothing."
    before, now = duration(baseline), duration(run)
    if not before or not now or {baseline.status, run.status} != {"completed"}:
        return ""
    took = f"{words.seconds(now)} instead of {words.seconds(before)}"
    workload = workloads().get(run.workload)
    scaling = workload.scaling if workload is not None else None
    old, new = (metrics.get(scaling.rate) if scaling else None for metrics in (baseline.metrics, run.metrics))
    if scaling is None or not (isinstance(old, int | float) and isinstance(new, int | float) and old > 0 and new > 0):
        return f"Run {run.id} {_times(before / now)} as run {baseline.id}: it took {took}."
    unit = scaling.unit
    return (
        f"The work of run {run.id} {_times(new / old)} as the work of run {baseline.id}: {words.quantity(new)} {unit} "
        f"instead of {words.quantity(old)} {unit}. From its start to its end, it took {took}."
    )


def _times(speedup: float) -> str:
    if abs(speedup - 1) < SAME:
        return "is as fast"
    return f"is {speedup:.2g} times as fast" if speedup > 1 else f"takes {1 / speedup:.2g} times as long"


def settings(runs: Sequence[RunRecord]) -> list[Row]:
    """The workload, the placement in words, the params and the placement's fields that aren't the same in all runs."""
    titles = [{"workload": workload_title(run.workload)} for run in runs]
    params = [public_view(run).params for run in runs]
    placements = [{"placement": Placement.parse(run.placement).describe()} for run in runs]
    fields = [run.placement for run in runs]
    return [*_differing(titles), *_differing(placements), *_differing(params), *_differing(fields)]


def results(runs: Sequence[RunRecord]) -> tuple[list[Row], list[Row]]:
    """The results of the runs in words: first the rows in which they differ, then the rows in which all are the
    same."""
    values_by_run = [{metric["label"]: metric["value"] for metric in metrics_of(run)} for run in runs]
    rows = [(name, *(values.get(name, ABSENT) for values in values_by_run)) for name in _names(values_by_run)]
    return [row for row in rows if not _same(row)], [row for row in rows if _same(row)]


def curves(snapshots: Iterable[Snapshot]) -> list[str]:
    """The names of the curves that the runs have told, in the order of their workload."""
    return _names(dict.fromkeys(curve_names(snapshot.workload, snapshot.totals)) for snapshot in snapshots)


def curve(snapshots: Mapping[str, Snapshot], name: str) -> go.Figure:
    """One curve of several runs, each with its label, in one plot."""
    return overlay(
        {label: snapshot.series(name) for label, snapshot in snapshots.items()},
        {label: snapshot.series(HELD_OUT + name) for label, snapshot in snapshots.items()},
        {label: snapshot.began for label, snapshot in snapshots.items() if snapshot.began is not None},
    )


def _differing(of_runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows = [
        (name.replace("_", " "), *(_setting(settings.get(name)) for settings in of_runs)) for name in _names(of_runs)
    ]
    return [row for row in rows if not _same(row)]


def _same(row: Row) -> bool:
    return len(set(row[1:])) == 1


def _setting(value: Any) -> str:
    """The value of a param or of a placement's field, with variables and hosts in words."""
    if isinstance(value, Mapping) and value.keys() == Host.model_fields.keys():
        return "{name}:{slots}".format_map(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_setting(member)}" for name, member in value.items()) or ABSENT
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ABSENT if value is None else str(value)


def _names(of_runs: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in of_runs for name in mapping))
