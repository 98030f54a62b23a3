"""Typed answers: a number within a tolerance, a few words, and a prediction, whose right answer is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core.placement import Placement
from workshop.quiz import expressions, text_input
from workshop.quiz.form_errors import Mistake, Where, run_problems
from workshop.quiz.parts import (
    Line,
    Name,
    NearNumber,
    NearText,
    NumberOrExpression,
    Picture,
    RunWanted,
    Tolerance,
    combinations,
    drawn_words,
    measured,
    written,
)
from workshop.quiz.rendering import ANSWERS, html
from workshop.quiz.types.base import DrawnQuestion, Mark, Question, uncomputable
from workshop.registry import workload
from workshop.report.actions import params_of


class Quantity(Question):
    """A question whose answer is a number with a unit."""

    form: ClassVar[str] = "number"

    unit: str = Field("", max_length=40, description="shown beside the answer, which may have it behind the number")

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        return super().view(variant, picture) | {"unit": self.unit, "whole": False}

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return text_input.number(raw, self.unit)

    def with_unit(self, value: float) -> str:
        """A number with three digits, or an integer, with the unit."""
        return f"{measured(value)} {self.unit}".strip()

    def quantity(self, value: str) -> str:
        """A number with the unit, as HTML."""
        return ANSWERS.words(f"{value} {self.unit}".strip())


def within(answer: float, right: float, tolerance: Tolerance) -> bool:
    """Whether a number is within the tolerance, including its edge; rounding errors don't matter."""
    allowed = tolerance.around(right)
    return abs(answer - right) <= allowed + 1e-12 * max(abs(right), abs(answer))


class Number(Quantity):
    """A number, within a tolerance."""

    what: ClassVar[str] = "a number"

    type: Literal["number"] = Field(description="a number, within a tolerance")
    answer: NumberOrExpression = Field(description="a number, or an expression of the question's numbers")
    tolerance: Tolerance = Field(Tolerance(relative=1e-6), description="by how much an answer may be off")
    near: tuple[NearNumber, ...] = Field((), max_length=10, description="wrong answers with feedback of their own")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        yield from uncomputable("answer", self.answer, self.numbers, ("answer",))
        for place, near in enumerate(self.near):
            yield from uncomputable(f"near.{place}", near.answer, self.numbers, ("near", place, "answer"))

    def problems(self) -> Iterator[Mistake]:
        """Report an answer without a value for some numbers, and a wrong one that counts as right for some numbers."""
        answers: list[tuple[Where, float | str]] = [(("answer",), self.answer)]
        answers += [(("near", place, "answer"), near.answer) for place, near in enumerate(self.near)]
        for numbers in combinations(self.numbers):
            right = None
            for path, answer in answers:
                try:
                    value = value_of(answer, numbers)
                except ValueError as error:
                    yield path, f"{error}{drawn_words(numbers, ' ')}; it should have a value for all numbers"
                    return
                if right is None:
                    right = value
                elif within(value, right, self.tolerance):
                    name = answer if isinstance(answer, str) else "it"
                    allowed = written(self.tolerance.around(right))
                    counts = f"{written(value)}{drawn_words(numbers, ' ')}, which counts as right"
                    yield path, f"{name} is {counts}: the answer is {written(right)}, and the tolerance {allowed}"
                    return

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        value = value_of(self.answer, variant.numbers)
        return super().solution(variant) | {"html": self.quantity(written(value)), "value": value}

    def right_words(self, variant: DrawnQuestion) -> str:
        value = value_of(self.answer, variant.numbers)
        off = self.tolerance.around(value)
        return f"{written(value)} {self.unit}".rstrip() + (f", by up to {written(off)} off" if off else "")

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        if within(answer, value_of(self.answer, variant.numbers), self.tolerance):
            return Mark(1.0, True)
        feedback = (html(near.feedback, variant.numbers) for near in self.near if self.hits(variant, near, answer))
        return Mark(0.0, False, tuple(feedback)[:1])

    def hits(self, variant: DrawnQuestion, near: Any, answer: Any) -> bool:
        return within(answer, value_of(near.answer, variant.numbers), near.tolerance or self.tolerance)


def value_of(answer: float | str, numbers: Mapping[str, float]) -> float:
    """A number, or the value of an expression of these numbers. Raises ValueError if it has no value."""
    return expressions.evaluate(answer, numbers) if isinstance(answer, str) else float(answer)


class Text(Question):
    """A few words; case and spaces don't matter."""

    what: ClassVar[str] = "an answer in words"
    form: ClassVar[str] = "text"

    type: Literal["text"] = Field(description="a few words")
    accept: tuple[Line, ...] = Field(min_length=1, max_length=50, description="right forms; the first one is shown")
    near: tuple[NearText, ...] = Field((), max_length=10, description="wrong answers with feedback of their own")

    def problems(self) -> Iterator[Mistake]:
        """Report forms of an answer that are equal in comparisons, and forms that nobody can type."""
        described: dict[str, str] = {}
        forms: list[Mistake] = [(("accept", place), form) for place, form in enumerate(self.accept)]
        for place, near in enumerate(self.near):
            forms += [(("near", place, "accept", at), form) for at, form in enumerate(near.accept)]
        for path, form in forms:
            folded = text_input.normalised(form)
            if folded in described:
                yield path, f"{form!r} is the same as {described[folded]}: case, spaces and apostrophes don't matter"
            elif not folded or len(form) > text_input.LONGEST_ANSWER:
                longest = text_input.LONGEST_ANSWER
                yield path, f"nobody can answer {form[:40]!r}; it should be 1 to {longest} characters"
            else:
                described[folded] = f"{form!r} in {'accept' if path[0] == 'accept' else f'near.{path[1]}'}"

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        return super().solution(variant) | {"html": ANSWERS.words(self.accept[0])}

    def right_words(self, variant: DrawnQuestion) -> str:
        return ", or ".join(self.accept)

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return text_input.text(raw)

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        if _among(answer, self.accept):
            return Mark(1.0, True)
        feedback = (html(near.feedback, variant.numbers) for near in self.near if _among(answer, near.accept))
        return Mark(0.0, False, tuple(feedback)[:1])

    def hits(self, variant: DrawnQuestion, near: Any, answer: Any) -> bool:
        return _among(answer, near.accept)


def _among(answer: str, forms: Sequence[str]) -> bool:
    return text_input.normalised(answer) in map(text_input.normalised, forms)


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

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        yield from uncomputable("truth", self.truth, self.runs, ("truth",))

    def problems(self) -> Iterator[Mistake]:
        for name, run in self.runs.items():
            yield from run_problems(run, ("runs", name))
        if self.kind == "rank" and self.unit:
            yield ("unit",), "a rank's number has no unit; leave unit out"

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        runs = [_run(name, run) for name, run in self.runs.items()]
        return super().view(variant, picture) | {"whole": self.kind == "rank", "runs": runs}

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        html = ""
        if truth is not None:
            html = ANSWERS.words(f"rank {round(truth)}") if self.kind == "rank" else self.quantity(measured(truth))
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
