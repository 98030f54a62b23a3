"""How studies look in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.extension import load
from workshop.registry import studies
from workshop.report import terminal
from workshop.store.records import StudyRecord
from workshop.study import trial_monitor
from workshop.study.kinds import Report, expected, title

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
    """Print a study of any kind."""
    known = studies().get(found.study.kind)
    load(known.show if known is not None and known.show else "workshop.study.terminal:show_trials")(found)


def show_report(found: Report, *parts: RenderableType, after: Iterable[str] = ()) -> None:
    """Print a report: which study it is, what its kind shows of it, its verdict, and lines `after` that."""
    out = Console(highlight=False)
    show_head(out, found)
    for part in parts:
        out.print(part)
    show_verdict(out, found)
    for line in after:
        out.print(Text(line))


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
    terminal.show_verdict(out, dict(found.verdict) | ahead)


def show_trials(found: Report) -> None:
    """A study of a kind that brings no view of its own: its trials."""
    rows = [(str(trial.number), str(trial.run_id or "-"), trial.label) for trial in found.trials]
    show_report(found, terminal.table(("trial", "run", "what"), rows))


def studies_table(found: Sequence[StudyRecord], runs: Sequence[int]) -> Table:
    """A line for each study; `runs` are how many each takes in all."""
    headings = ("study", "what", "state", "runs", "failed", "begun")
    table = terminal.table(headings, right=("study", "runs", "failed"))
    for study, expected_runs in zip(found, runs, strict=True):
        table.add_row(
            str(study.id),
            Text(title(study)),
            Text(study.state, style=COLOURS.get(study.state, "white")),
            f"{study.done} of {expected_runs}",
            str(study.failed or ""),
            words.moment(study.created_at),
        )
    return table


def rate(value: float) -> str:
    """Four digits, and thousands and millions in the common letters from 100,000 on."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(factor, 1e5):
            return f"{value / factor:.4g}{letter}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def about(seconds: float) -> str:
    """A time in words, rounded as its uncertainty asks for."""
    return f"about {words.long(seconds)}"
