"""Cards of the guided study: each step with its figure, its verdict, and what the article found."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from workshop.core import words as say
from workshop.report.analysis.spent import as_long_run
from workshop.report.analysis.threads import KINDS
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.figures.bars import settings
from workshop.report.figures.line import line as drawn_line
from workshop.report.figures.memory import memory
from workshop.report.figures.points import Point
from workshop.report.figures.shares import compared
from workshop.report.figures.waterfall import WaterfallStep as Stage
from workshop.report.figures.waterfall import waterfall
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.study.card_parts import about, cells_table, pick, point, rate_words, runs_card, verdict
from workshop.study.grid.cards import picture
from workshop.study.guided.cells import AFTER, BEFORE, left_out
from workshop.study.guided.evidence import threads_of
from workshop.study.guided.found import Found
from workshop.study.guided.guesses import about as about_study
from workshop.study.guided.kind import PathReport, StepReport
from workshop.study.guided.places import AS_FOUND
from workshop.study.guided.saying import name
from workshop.study.guided.steps import OTHERS, SOURCE
from workshop.study.results import CellResult

Drawn = tuple[Part, ...]
ZERO = (
    "The axis begins at zero: a leak is a line that goes on climbing. Above it stands all that each has gained; the "
    "verdict counts what comes after the first third, in which pools fill up."
)


def cards(report: PathReport) -> list[Card]:
    """All steps that have something to show, for one's own page and for the export."""
    shown = [card for one in report.steps if one.state != "waiting" for card in step_cards(report, one.step.key)]
    return [verdict(report), *shown, runs_card(report, report.setting.rate, report.unit)]


def guessed(report: PathReport, shown: Sequence[Card], steps: Container[str]) -> list[Card]:
    """Of a report's cards, those that give nothing away to somebody who has guessed in these steps only."""
    if all(one.state == "waiting" or one.step.key in steps for one in report.steps):
        return list(shown)
    return [card for card in shown if (key := card.name.partition("-")[2]) and key in steps]


def visible(store: Store, identity: int, report: PathReport, shown: Sequence[Card]) -> list[Card]:
    """The cards of those steps in which somebody has guessed, or looked."""
    keys = [one.step.key for one in report.steps if one.state != "waiting"]
    return guessed(report, shown, {key for key in keys if store.guess(identity, about_study(report.study.id, key))})


def step_cards(report: PathReport, key: str, titled: bool = True) -> list[Card]:
    """One step: its figure with all it has found, and what the article's authors found."""
    one = report.step(key)
    title = f"{key}. {one.step.title}" if titled else ""
    parts = _DRAWN[key](report, one)
    told = one.verdict
    head: Drawn = ()
    if told is not None:
        head = (words(line(told["verdict"], tone="heading"), line(told["why"], "Why"), line(told["next"], "Next")),)
    return [
        Card(f"step-{key}", title, (*head, *parts, article(one))),
        Card(f"cells-{key}", "", tuple(_cells(report, one))),
    ]


def article(one: StepReport) -> Part:
    """The article's own figures, cited."""
    return words(line(f"{one.step.article} {OTHERS} {SOURCE}.", "The article:", tone="about"))


def _cells(report: PathReport, one: StepReport) -> list[Part]:
    axes = list(dict.fromkeys(axis for cell in one.cells for axis in cell.point if axis not in ("step", "gave")))
    return cells_table([_bare(cell) for cell in one.cells], report.unit, axes)


def _bare(cell: CellResult) -> CellResult:
    """A cell as its own step's figures name it."""
    point = {axis: value for axis, value in cell.point.items() if axis != "step"}
    return CellResult(**{**vars(cell), "label": name(cell), "point": point})


def _grid(report: PathReport, one: StepReport) -> Drawn:
    return picture([_bare(cell) for cell in one.cells], _axes(one), report.unit)


def _ranks(report: PathReport, one: StepReport) -> Drawn:
    """The heat map of ranks and threads, with what the quick setting has left out."""
    out = [f"{ranks} x {threads}" for ranks, threads in left_out(report.found)]
    said = f"Left out in the quick setting, with more than two threads for a core: {say.listed(out)}."
    return (*_grid(report, one), *([about(said)] if out else []))


def _axes(one: StepReport) -> list[str]:
    return [axis for axis in one.cells[0].point if axis != "step"] if one.cells else []


def _profile(report: PathReport, one: StepReport) -> Drawn:
    """Threads by kind, and where the time went, of the naive start beside the same rank with all cores."""
    runs = {name(cell): run for cell in one.cells if (run := report.found.run(cell)) is not None}
    census = {label: {kind.kind: kind for kind in threads_of(run)} for label, run in runs.items()}
    kinds = list(dict.fromkeys(kind for told in census.values() for kind in told))
    parts: list[Part] = []
    if kinds:
        rows = []
        for kind in kinds:
            cells = []
            for told in census.values():
                there = told.get(kind)
                cells += [str(there.count), str(there.busy), say.seconds(there.seconds)] if there else ["–"] * 3
            rows.append([KINDS.get(kind, kind), *cells])
        heads = [f"{label}: {what}" for label in census for what in ("threads", "worked", "processor time")]
        parts.append(table(["Kind of thread", *heads], rows))
    times = {label: _times(run) for label, run in runs.items()}
    if any(times.values()):
        parts += [about("Where the time of the run went, in seconds of it."), figure(compared(times))]
    told_memory = [
        f"{label} {say.size(max(run.metrics['memory']))}" for label, run in runs.items() if run.metrics.get("memory")
    ]
    if told_memory:
        parts.append(about(f"Memory of the rank: {say.listed(told_memory)}."))
    picks = [pick(_bare(cell), report.unit) for cell in one.cells]
    points = [point(cell, name(cell)) for cell in one.cells]
    return (
        *parts,
        figure(settings(points, report.unit, points[0].name), picks=picks),
    )


def _times(run: RunRecord) -> Mapping[str, float]:
    """The run's phases of training, and its other seconds."""
    phases = run.metrics.get("phases")
    seconds = {key: float(value) for key, value in (run.metrics.get("seconds") or {}).items() if value}
    if isinstance(phases, Mapping) and phases:
        seconds.pop("train", None)
        seconds |= {key: float(sum(values)) / max(len(values), 1) for key, values in phases.items()}
    return seconds


def _memory(report: PathReport, one: StepReport) -> Drawn:
    """Resident memory after each evaluation, and what an evaluation took."""
    lines = {way: (list(range(1, len(how.values) + 1)), list(how.values)) for way, how in report.grown.items()}
    return (figure(memory(lines, axis="evaluations")), about(ZERO))


def _bars(report: PathReport, one: StepReport) -> Drawn:
    points = [point(cell, name(cell)) for cell in one.cells]
    picks = [pick(_bare(cell), report.unit) for cell in one.cells]
    base = AS_FOUND if one.step.key == "f" else ""
    return (figure(settings(points, report.unit, base), picks=picks),)


def _evaluation(report: PathReport, one: StepReport) -> Drawn:
    """Shares of training and evaluation before and after on the most ranks; scaling in images/s and in time."""
    found = report.found
    most = max((cell.point["ranks"] for cell in one.cells), default=1)
    rings = {}
    for cell in one.cells:
        if cell.point["ranks"] == most and (seconds := as_long_run(found.run(cell))):
            rings[f"{cell.point['evaluation']}, {say.count(most, 'rank')}"] = seconds
    several = sorted({cell.point["ranks"] for cell in one.cells})
    training = _over_ranks(found, one.cells, several, _training)
    whole = _over_ranks(found, one.cells, several, _whole)
    return (
        figure(compared(rings)),
        about("Images a second of training alone, as is most often told:"),
        figure(drawn_line(several, training, "ranks", report.unit, ideal="faster", mark=False)),
        about("Time for the same images, evaluation counted in:"),
        figure(drawn_line(several, whole, "ranks", "seconds", ideal="shorter", mark=False)),
    )


def _over_ranks(
    found: Found, cells: Sequence[CellResult], several: Sequence[int], of: Callable[[RunRecord], float | None]
) -> dict[str, list[Point]]:
    """A line for each way to evaluate, with a point for each number of ranks."""
    lines = {}
    for when in (BEFORE, AFTER):
        at = {cell.point["ranks"]: cell for cell in cells if cell.point["evaluation"] == when}
        points = []
        for ranks in several:
            cell = at.get(ranks)
            runs = [found.runs[run] for run in cell.runs] if cell is not None else []
            values = tuple(value for run in runs if (value := of(run)) is not None)
            points.append(
                Point(say.count(ranks, "rank"), values, cell.status if cell else "", cell.why if cell else "")
            )
        lines[when] = points
    return lines


def _training(run: RunRecord) -> float | None:
    told = run.metrics.get("images_per_second")
    return float(told) if isinstance(told, (int, float)) else None


def _whole(run: RunRecord) -> float | None:
    return sum(as_long_run(run).values()) or None


def _waterfall(report: PathReport, one: StepReport) -> Drawn:
    measured = [cell for cell in one.cells if cell.median]
    if len(measured) < 2 or measured[0] is not one.cells[0]:
        return (about("The waterfall needs the naive start and at least one stage behind it."),)
    first, *rest = measured
    before = [first, *rest]
    stages = [
        Stage(name(cell), cell.median or 0.0, report.found.apart(cell, was))
        for cell, was in zip(rest, before, strict=False)
    ]
    drawn = waterfall(Stage(name(first), first.median or 0.0), stages, report.unit)
    gave = {cell.point["gave"] for cell in one.cells}
    nothing = [
        step.step.short
        for step in report.steps
        if step.step.key not in gave | {"i"} and step.state in ("done", "partly")
    ]
    left = f" Not in it, since they added nothing beyond chance: {say.listed(nothing)}." if nothing else ""
    return (
        figure(drawn),
        about(f"Evaluation is counted in, {rate_words(first.median, report.unit)} at the start.{left}"),
    )


_DRAWN: Mapping[str, Callable[[PathReport, StepReport], Drawn]] = {
    "a": _profile,
    "b": _grid,
    "c": _grid,
    "d": _ranks,
    "e": _memory,
    "f": _bars,
    "g": _grid,
    "h": _evaluation,
    "i": _waterfall,
}
