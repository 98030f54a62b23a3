"""How studies look in a terminal of 80 columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.store.records import StudyRecord
from workshop.study import trial_monitor
from workshop.study.kinds import Report, expected, title
from workshop.study.scaling.efficiency import Row
from workshop.study.scaling.kind import ScalingReport

# How each kind of study is shown: functions that take its report.
SHOWN = {
    "scaling": "workshop.cli.show_study:show_scaling",
    "grid": "workshop.cli.show_grid:show_grid",
    "tune": "workshop.cli.show_tune:show_tune",
    "path": "workshop.cli.show_path:show_path",
    "ways": "workshop.cli.show_ways:show_ways",
}
COLOURS = {"completed": "green", "failed": "red", "interrupted": "yellow", "running": "cyan"}


@contextmanager
def watch_study(err: Console) -> Iterator[Callable[[trial_monitor.Progress], None]]:
    """A progress bar over a study's trials, with the time that the rest is likely to take, and below it what is run;
    nothing where there is no terminal."""
    if not err.is_terminal:
        yield lambda now: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    bar, name = Progress(*columns, console=err), Text("", no_wrap=True, overflow="ellipsis")
    with Live(Group(bar, name), console=err, transient=True):
        task = bar.add_task("", total=None, left="")

        def look(now: trial_monitor.Progress) -> None:
            state = "waits" if now.run.status == "queued" else ""
            if now.run.progress and now.run.progress[1] > 0:
                state = words.percent(min(now.run.progress[0] / now.run.progress[1], 1.0))
            left = "" if now.seconds_left is None else f"{about(now.seconds_left)} left"
            bar.update(
                task,
                description=f"run {now.run.id} {state}".rstrip(),
                completed=now.done,
                total=now.total,
                left=left,
            )
            name.plain = f"  {now.trial.label}"

        yield look


def resuming(study: int) -> str:
    """How to go on with a study."""
    return f"Go on with: workshop study resume {study}"


def show_study(found: Report) -> None:
    """A study of whatever kind."""
    module, _, function = SHOWN[found.study.kind].partition(":")
    getattr(import_module(module), function)(found)


def show_head(out: Console, found: Report) -> None:
    """Which study it is, and how far it has come."""
    study = found.study
    state = (study.state, COLOURS.get(study.state, "white"))
    far = f", {study.done} of {expected(study, found.trials, found.runs)} runs"
    out.print(Text.assemble(f"Study {study.id}: {title(study)} - ", state, far))


def show_verdict(out: Console, found: Report) -> None:
    """Verdict, why and next."""
    study = found.study
    # What a study that nobody works on needs first is to be finished.
    ahead = {"next": f"{resuming(study.id)}."} if study.state == "interrupted" else {}
    for part, said in (dict(found.verdict) | ahead).items():
        out.print(Text.assemble((f"{part.capitalize()}: ", "bold"), said))


def show_scaling(found: ScalingReport) -> None:
    """A scaling study: its rows, its verdict, and what others have published."""
    out = Console(highlight=False)
    show_head(out, found)
    out.print(_table(found.rows, found.unit))
    show_verdict(out, found)
    for one in found.references:
        out.print(Text(f"Published: {one.what} {one.speed_up:.2f}x on {one.workers} {one.worker}s. {one.source}."))
    runs = [str(run) for row in found.rows for run in row.runs]
    if runs:
        out.print(Text(f"Runs: {', '.join(sorted(runs, key=int))} (workshop runs show RUN)"))


def studies_table(studies: Sequence[StudyRecord], runs: Sequence[int]) -> Table:
    """A line for each study; `runs` are how many each takes in all."""
    table = Table(box=None, pad_edge=False)
    for heading in ("study", "what", "state", "runs", "failed", "begun"):
        table.add_column(heading, justify="right" if heading in ("study", "runs", "failed") else "left")
    for study, expected_runs in zip(studies, runs, strict=True):
        table.add_row(
            str(study.id),
            Text(title(study)),
            Text(study.state, style=COLOURS.get(study.state, "white")),
            f"{study.done} of {expected_runs}",
            str(study.failed or ""),
            time.strftime("%d %b %H:%M", time.localtime(study.created_at)),
        )
    return table


def _table(rows: list[Row], unit: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    failed = any(row.failures for row in rows)
    headings = ["ranks", unit, "lowest-highest", "speed-up", "of ideal", "compute", "comm.", "wait", "input"]
    for heading in headings + (["failed"] if failed else []):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = [str(row.ranks), *_figures(row)]
        cells += ["-" if share is None else words.percent(share) for share in row.shown_shares.values()]
        table.add_row(*cells, *([str(len(row.failures) or "")] if failed else []))
    return table


def _figures(row: Row) -> list[str]:
    if row.throughput is None or row.speed_up is None or row.efficiency is None:
        return ["-", "-", "-", "-"]
    return [
        rate(row.throughput),
        f"{rate(min(row.rates))}-{rate(max(row.rates))}",
        f"{row.speed_up:.2f}x",
        words.percent(row.efficiency),
    ]


def rate(value: float) -> str:
    """Four digits, and thousands and millions in the common letters from 100,000 on."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(factor, 1e5):
            return f"{value / factor:.4g}{letter}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def about(seconds: float) -> str:
    """As coarse as it is uncertain."""
    return f"about {words.long(seconds)}"
