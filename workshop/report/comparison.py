"""Runs side by side: what was set differently, what came out, and each of their curves in one plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core.placement import Host, Placement
from workshop.registry import workload_title, workloads
from workshop.report.activity import duration
from workshop.report.analysis import findings
from workshop.report.figures.line import overlay
from workshop.report.panels.run_metrics import HELD_OUT, curve_names
from workshop.report.sentences import metrics, metrics_of, public_view
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord

Row = tuple[str, ...]  # a name, and a value for each run
ABSENT = "–"


MOST_RUNS = 5  # runs that are compared at a time
FIGURES = 5  # results that are compared first, with the time from start to end


def figures(runs: Sequence[RunRecord]) -> list[Row]:
    """The time from start to end and the first numbers that the workload names, each with its ratio to the first run's,
    as far as they differ. Runs of different workloads have no figures."""
    workload = workloads().get(runs[0].workload)
    if workload is None or len({run.workload for run in runs}) > 1:
        return []
    values: dict[str, list[Any]] = {"time": [duration(run) for run in runs]}
    values |= {name: [run.metrics.get(name) for run in runs] for name in workload.results}
    called = {"time": "from start to end [s]", **workload.metrics}
    complete = [name for name in values if all(map(findings.number, values[name])) and len(set(values[name])) > 1]
    return [_figure(name, values[name], called) for name in complete[:FIGURES]]


def _figure(name: str, values: Sequence[float], called: Mapping[str, str]) -> Row:
    labelled = [metric for value in values for metric in metrics({name: value}, called)]
    ratios = ["", *(f" ({value / values[0]:.2g} ×)" if values[0] else "" for value in values[1:])]
    return labelled[0]["label"], *(metric["value"] + ratio for metric, ratio in zip(labelled, ratios, strict=True))


def on_one_scale(plots: Sequence[go.Figure]) -> None:
    """Give the horizontal bars of several figures the same range."""
    lengths = []
    for plot in plots:
        rows: Counter[Any] = Counter()
        for bar in plot.select_traces({"type": "bar", "orientation": "h"}):
            rows.update(dict(zip(bar.y, bar.x, strict=True)))
        lengths.append(max(rows.values(), default=0.0))
    if all(lengths):
        for plot in plots:
            plot.update_xaxes(range=[0, 1.05 * max(lengths)])


def settings(runs: Sequence[RunRecord]) -> list[Row]:
    """The workload, the placement in words, the params and the placement's fields that aren't the same in all runs."""
    titles = [{"workload": workload_title(run.workload)} for run in runs]
    placements = [{"placement": Placement.parse(run.placement).describe()} for run in runs]
    all_settings = (titles, placements, [public_view(run).params for run in runs], [run.placement for run in runs])
    return [row for some in all_settings for row in _differing(some)]


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
    rows = ((name.replace("_", " "), *(_setting(some.get(name)) for some in of_runs)) for name in _names(of_runs))
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
