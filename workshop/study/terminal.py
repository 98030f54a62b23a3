"""How studies look in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from workshop.core import words
from workshop.report import terminal
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.kinds import Report, Sofar, expected, read, title
from workshop.study.results import reason, results
from workshop.study.trials import missing, status

HEADINGS = ("study", "what", "state", "runs", "failed", "begun")
COLOURS = {"completed": "green", "failed": "red", "interrupted": "yellow", "running": "cyan", "prepared": "blue"}


@contextmanager
def watch_study(err: Console) -> Iterator[Callable[[runner.Progress], None]]:
    """A progress bar over a study's trials with the estimated time left, and below it the current trial. It shows
    nothing without a terminal: see `report_ends`."""
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
    bar, name = Progress(*columns, console=err), Text("\n", no_wrap=True, overflow="ellipsis")
    with Live(Group(bar, name), console=err, transient=True):
        task = bar.add_task("", total=None, left="")

        def look(now: runner.Progress) -> None:
            state = "waits" if now.run.status == "queued" else ""
            if now.run.progress and now.run.progress[1] > 0:
                state = words.percent(min(now.run.progress[0] / now.run.progress[1], 1.0))
            elif now.run.activity:
                state = now.run.activity["words"]
            time_left = "" if now.seconds_left is None else f"{about(now.seconds_left)} left"
            bar.update(
                task,
                description=f"run {now.run.id} {state}".rstrip(),
                completed=now.done,
                total=now.total,
                left=time_left,
            )
            name.plain = f"  {now.trial.label}\n  {now.best}"  # always as many lines: they are drawn over

        yield look


def report_ends(err: Console, store: Store, study_id: int) -> Callable[[int], None]:
    """A function that prints one line about the ended trial with this number. It prints nothing on a terminal, where a
    bar shows the progress."""
    if err.is_terminal:
        return lambda number: None

    def print_end(number: int) -> None:
        study = store.study(study_id)
        sofar = Sofar(study, *read(store, study_id))
        trial, rate = sofar.trials[number - 1], study.description.get("rate", "")
        (cell,) = results([trial], sofar.runs, rate)
        if cell.rates:
            outcome = f"{words.quantity(cell.rates[0])} {study.description.get('unit', '')}".rstrip()
        elif rate and cell.why:
            outcome = f"{cell.status}: {cell.why}"
        else:  # also of a kind of study that compares no figure
            outcome = ": ".join(filter(None, (status(trial, sofar.runs), reason(trial, sofar.runs))))
        done = len(sofar.trials) - len(missing(sofar.trials, sofar.runs))
        err.print(Text(f"{done} of {expected(sofar)}: {trial.label}, {outcome}"), soft_wrap=True)

    return print_end


def resuming(study: int) -> str:
    """How to go on with a study."""
    return f"Go on with: workshop study resume {study}"


def show_study(report: Report) -> None:
    """Print a study of any kind: its state, its cards without the list of trials, its verdict, and its runs."""
    from workshop.study.cards import cards  # with Plotly

    out = Console(highlight=False)
    show_head(out, report)
    cards_by_name = {card.name: card for card in cards(report)}
    rest = [card for name, card in cards_by_name.items() if name not in ("verdict", "runs")]
    terminal.show(out, rest or [cards_by_name["runs"]])
    show_verdict(out, report)
    runs = [str(trial.run_id) for trial in report.trials if trial.run_id]
    if runs:
        out.print(Text(f"Runs: {', '.join(runs)} (workshop runs show RUN)"))


def show_head(out: Console, report: Report) -> None:
    """Print the study's number, title, state and progress."""
    study = report.study
    state = (study.state, COLOURS.get(study.state, "white"))
    far = f", {study.done} of {expected(report)} runs"
    out.print(Text.assemble(f"Study {study.id}: {title(study)} - ", state, far))


def show_verdict(out: Console, report: Report) -> None:
    """Verdict, why and next."""
    study = report.study
    # An interrupted study should be completed first.
    states = {"interrupted": resuming(study.id), "prepared": f"Start it with: workshop study resume {study.id}"}
    ahead = {"next": f"{states[study.state]}."} if study.state in states else {}
    terminal.show_verdict(out, dict(report.verdict) | ahead)


def studies_rows(studies: Sequence[StudyRecord], runs: Sequence[int]) -> list[tuple[str | Text, ...]]:
    """A line for each study; `runs` are their expected numbers of runs."""
    return [
        (
            str(study.id),
            title(study),
            Text(study.state, style=COLOURS.get(study.state, "white")),
            f"{study.done} of {expected_runs}",
            str(study.failed or ""),
            words.moment(study.created_at),
        )
        for study, expected_runs in zip(studies, runs, strict=True)
    ]


def about(seconds: float) -> str:
    """A rounded time in words."""
    return f"about {words.long(seconds)}"
