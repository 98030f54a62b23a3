"""Predict the outcome of runs; the right answer is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core.placement import Placement
from workshop.quiz import text_input
from workshop.quiz.form_errors import DeckMistake, run_problems
from workshop.quiz.parts import Line, Name, Picture, RunWanted, Tolerance
from workshop.quiz.randomisation import measured
from workshop.quiz.types.base import DrawnQuestion, Fault, Mark, uncomputable
from workshop.quiz.types.number import Quantity, within
from workshop.registry import workload
from workshop.report.actions import params_of

LOST_AT = 5.0  # the error, as a multiple of the tolerance, at which a prediction gets no points


class Predict(Quantity):
    """Predict the outcome of runs; the right answer is measured."""

    what: ClassVar[str] = "a prediction, whose answer is measured"
    measured: ClassVar[bool] = True

    type: Literal["predict"] = Field(description="what will come out of runs")
    runs: dict[Name, RunWanted] = Field(min_length=1, max_length=4, description="by the names that truth calls them")
    truth: Line = Field(description="an expression of the runs' metrics, for instance `four.seconds / one.seconds`")
    kind: Literal["number", "rank"] = Field("number", description="a number, or which rank")
    tolerance: Tolerance = Field(Tolerance(relative=0.25), description="by how much a prediction may be off")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        yield from uncomputable("truth", self.truth, self.runs, ("truth",))

    def problems(self) -> Iterator[DeckMistake]:
        for name, run in self.runs.items():
            yield from run_problems(run, ("runs", name))
        if self.kind == "rank" and self.unit:
            yield DeckMistake(("unit",), "a rank's number has no unit; leave unit out")

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        runs = [_run(name, run) for name, run in self.runs.items()]
        return super().view(variant, picture) | {"whole": self.kind == "rank", "runs": runs}

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        html = ""
        if truth is not None:
            html = f"<p>rank {round(truth)}</p>" if self.kind == "rank" else self.quantity(measured(truth))
        return super().solution(variant) | {"html": html, "value": truth}

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        for name, run in self.runs.items():
            settings = ", ".join(f"{key} = {value}" for key, value in {**run.params, **run.placement}.items())
            yield f"Run {name}: {run.workload}{f' with {settings}' if settings else ''}", "   ", "   "

    def right_words(self, variant: DrawnQuestion) -> str:
        return f"{self.truth}, measured"

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        if self.kind == "number":
            return super().read(variant, raw)
        most = max(Placement.parse(run.placement).ranks for run in self.runs.values())
        rank = raw.strip().lower().removeprefix("rank") if isinstance(raw, str) else raw
        return text_input.whole_number(rank, "A rank of these runs", 0, most - 1)

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        if truth is None:
            raise ValueError(f"what {self.id} asks for has not been measured")
        if self.kind == "rank":
            return Mark(float(answer == round(truth)), answer == round(truth))
        share = closeness(answer, truth, self.tolerance)
        return Mark(share, share == 1.0)

    def value_words(self, value: float) -> str:
        """A measured or guessed value in a sentence: 24.3 images/s, rank 2."""
        return f"rank {round(value)}" if self.kind == "rank" else self.with_unit(value)


def closeness(answer: float, truth: float, tolerance: Tolerance) -> float:
    """1 within the tolerance; beyond it, a straight line down to 0 at five times the tolerance. With a relative
    tolerance, the line ends at the latest where the error is as large as the right answer: an answer of 0 gets 0."""
    if within(answer, truth, tolerance):
        return 1.0
    allowed = tolerance.around(truth)
    if not allowed:
        return 0.0
    lost = LOST_AT * allowed if tolerance.relative is None else min(LOST_AT * allowed, abs(truth))
    share = (lost - abs(answer - truth)) / (lost - allowed) if lost > allowed else 0.0
    return round(max(0.0, share), 2)  # no answer is partly right for 0 points


def _run(name: str, run: RunWanted) -> str:
    """Describe a run: k-means (--points 5000) on 4 ranks × 1 thread."""
    family, placement = workload(run.workload), Placement.parse(run.placement)
    options = " ".join(params_of(family, run.params))
    variables = "".join(f", {variable}={value}" for variable, value in placement.environment.items())
    return f"{name}: {family.title}{f' ({options})' if options else ''}, {placement.describe()}{variables}"
