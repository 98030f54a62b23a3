"""How tuning looks in a terminal of 80 columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.mpi.command_lines import folded
from workshop.report import terminal
from workshop.study import runner, trial_monitor
from workshop.study.results import CellResult, ranked
from workshop.study.terminal import about, rate, show_head, show_verdict
from workshop.study.tune.report import TuneReport, reported

Look = Callable[[trial_monitor.Progress], None]
SHOWN = 8  # placements in the table
WIDTH = 78


def watch_tune(store: Any, study: int) -> Callable[[Console], AbstractContextManager[Look]]:
    """Shows what a tuning study tries now, and the best so far; where there is no terminal, a line for each trial."""

    @contextmanager
    def watch(err: Console) -> Iterator[Look]:
        seen: set[int] = set()
        best, began = Text(), time.monotonic()
        with Live(console=err, transient=True, auto_refresh=False) as live:

            def look(progress: trial_monitor.Progress) -> None:
                nonlocal best
                trial = progress.trial
                name = f"{trial.label}{' (once more)' if trial.repeat > 1 else ''}"
                if trial.number not in seen:
                    seen.add(trial.number)
                    best = _best(reported(store.study(study), *runner.read(store, study)))
                    if not err.is_terminal:
                        err.print(f"{trial.number}: {name}")
                if err.is_terminal:
                    live.update(Group(_lines(_far(progress, time.monotonic() - began), name), best), refresh=True)

            yield look

    return watch


def show_tune(found: TuneReport) -> None:
    """What a tuning study has found: its placements, its verdict, and the command lines to use."""
    out = Console(highlight=False)
    show_head(out, found)
    if found.cells:
        out.print(_table(found))
    show_verdict(out, found)
    for heading, command in (("In a session:", found.command), ("Without one:", found.mpirun)):
        if command is not None:
            out.print(Text(heading, style="bold"))
            out.print(Text(folded(command, WIDTH)), soft_wrap=True)


def _table(found: TuneReport) -> Table:
    headings = ("placement", found.unit, "lowest-highest", "runs", "x naive")
    table = terminal.table(headings, right=headings[1:], gap=1)
    order = ranked(found.cells)
    if found.best is not None:
        order = [found.best, *(cell for cell in order if cell is not found.best)]
    shown = order[:SHOWN]
    for cell in (found.usual, found.naive):
        if cell is not None and cell.rates and cell not in shown:
            shown.append(cell)
    for cell in shown:
        table.add_row(*_cells(found, cell), style="bold" if cell is found.best else "")
    rest = [cell for cell in found.cells if cell not in shown]
    if rest:
        slower = sum(bool(cell.rates) for cell in rest)
        said = [f"{slower} slower"] if slower else []
        for status, what in (("pruned", "ended early as hopeless"), ("failed", "failed")):
            if count := sum(cell.status == status for cell in rest):
                said.append(f"{count} {what}")
        if said:
            table.add_row(Text(f"and {words.listed(said)}", style="dim"))
    return table


def _cells(found: TuneReport, cell: CellResult) -> list[Text]:
    mine = cell.median or 0.0
    base = found.naive.median if found.naive is not None else None
    name = cell.label + (" (naive start)" if cell is found.naive else " (default)" if cell is found.usual else "")
    reach = f"{rate(min(cell.rates))}-{rate(max(cell.rates))}" if len(cell.rates) > 1 else ""
    return [
        Text(text) for text in (name, rate(mine), reach, str(len(cell.rates)), f"{mine / base:.2f}" if base else "-")
    ]


def _far(progress: trial_monitor.Progress, seconds: float) -> str:
    """How far the study is, and the run that is going on."""
    run, number = progress.run, progress.trial.number
    left = "" if progress.seconds_left is None else f", {about(progress.seconds_left)} left"
    said = f"trial {number} of about {max(progress.total, number)}, {seconds:.0f} s{left}"
    if run.status == "queued":
        return f"{said}: waits"
    if run.progress and run.progress[1] > 0:
        return f"{said}: {words.percent(min(run.progress[0] / run.progress[1], 1.0))}"
    return said


def _best(found: TuneReport) -> Text:
    if found.best is None or found.best.median is None:
        return _lines("nothing measured yet", "")
    best = f"best so far: {words.rate(found.best.median)} {found.unit}"
    if found.gain is not None and found.best is not found.naive:
        best += f", {found.gain.value:.2f}x the naive start"
    return _lines(best, found.best.label)


def _lines(head: str, name: str) -> Text:
    """Two lines that never become more: what is drawn over must keep its height."""
    return Text(f"{head}\n  {name}", no_wrap=True, overflow="ellipsis")
