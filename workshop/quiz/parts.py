"""The parts of questions: options, random numbers, tolerances, and wrong answers that show a misconception. Also the
values of a question's numbers for each learner, and how numbers are written.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

from workshop.core import words

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
WorkloadName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)]
MARKDOWN = "Markdown"  # marks the fields, and items of fields, whose text is Markdown
Markdown = Annotated[str, Field(min_length=1, max_length=10_000), MARKDOWN]
Comment = Annotated[str, Field(max_length=10_000), MARKDOWN]  # Markdown that may be empty
Line = Annotated[str, Field(min_length=1, max_length=500)]
Seconds = Annotated[int, Field(ge=5, le=3600)]
Points = Annotated[float, Field(ge=0, le=100)]

NumberOrExpression = Annotated[float, Strict()] | str  # strict: YAML's yes and no are no numbers

# The fields of `workshop.core.placement.Placement` that learners can fill in when they compose a placement.
Composed = Literal["ranks", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "threads"]


class DeckPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Picture(DeckPart):
    """A picture beside a question."""

    file: Line = Field(description="an SVG, PNG, JPEG or WebP file in the deck's folder")
    alt: Line = Field(description="what it shows, for those who can't see it")


class Range(DeckPart):
    """A number with another value for each learner: one of `values`, or one from `low` to `high` in steps of `step`."""

    values: tuple[float, ...] = Field((), max_length=100, description="one of these")
    low: float | None = Field(None, description="the smallest one")
    high: float | None = Field(None, description="the largest one, if a step gets there")
    step: float = Field(1, gt=0, description="from one to the next")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Range:
        if bool(self.values) == (self.low is not None or self.high is not None):
            raise ValueError("a number is given as values, or as low and high")
        if self.values:
            return self
        if self.low is None or self.high is None or self.low > self.high:
            raise ValueError("a number from low to high needs both, the smaller one as low")
        if (self.high - self.low) / self.step > 10_000:
            raise ValueError("a number has at most 10,000 steps from low to high")
        return self


class Tolerance(DeckPart):
    """How far a right answer may be off: in its unit, or as a share of the exact value."""

    absolute: float | None = Field(None, ge=0, description="in the unit of the answer")
    relative: float | None = Field(None, ge=0, le=10, description="a share of the right answer: 0.1 is 10 %")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Tolerance:
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("a tolerance is absolute or relative")
        return self

    def around(self, value: float) -> float:
        """How far an answer may be off if this is the exact value."""
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(value)


class PollOption(DeckPart):
    """An option that can be chosen."""

    text: Markdown = Field(description="Markdown")


class Option(PollOption):
    """An option that is right or wrong."""

    right: bool = Field(False, description="whether it is right")
    feedback: Comment = Field("", description="Markdown for people who chose it")


class NearNumber(DeckPart):
    """A wrong number that shows a misconception."""

    answer: NumberOrExpression = Field(description="a number, or an expression of the question's numbers")
    tolerance: Tolerance | None = Field(None, description="default: the question's")
    feedback: Markdown = Field(description="Markdown for people who answered it")


class NearText(DeckPart):
    """Wrong words that show a misconception."""

    accept: tuple[Line, ...] = Field(min_length=1, max_length=20, description="its forms")
    feedback: Markdown = Field(description="Markdown for people who answered it")


class Pair(DeckPart):
    """Two things that belong together."""

    left: Markdown = Field(description="Markdown; stays where it is")
    right: Markdown = Field(description="Markdown; what is to be found for it")


class RunWanted(DeckPart):
    """A run from which the right answer is computed."""

    workload: WorkloadName = Field(description="what to run, as in `workshop run`")
    params: dict[str, Any] = Field({}, description="its settings that the answer depends on; others may differ")
    placement: dict[str, Any] = Field({}, description="where it runs: ranks, map_by, bind_to, threads and so on")


class NearPlacement(DeckPart):
    """A wrong placement that shows a misconception."""

    placement: dict[str, Any] = Field(description="fields of ask; whatever puts the ranks there counts as this one")
    feedback: Markdown = Field(description="Markdown for people who composed it")


def texts(part: DeckPart) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """All Markdown texts of a question or of its part, each with its place."""
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if MARKDOWN in field.metadata:
            yield (name,), value
        for place, item in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(item, DeckPart):
                yield from (((name, place, *path), text) for path, text in texts(item))
            elif MARKDOWN in getattr(get_args(field.annotation)[0], "__metadata__", ()):
                yield (name, place), item


LETTERS = "abcdefghijklmnopqrstuvwxyz"
FEW_COMBINATIONS = 400  # combinations of numbers that are all tried


@lru_cache
def values(choices: Range) -> tuple[float, ...]:
    """All values of a number, in the order of the deck."""
    if choices.values:
        return choices.values
    assert choices.low is not None and choices.high is not None, "no single values"
    steps = math.floor((choices.high - choices.low) / choices.step + 1e-9)
    # Without rounding errors: 0.3, not 0.30000000000000004.
    return tuple(float(f"{choices.low + number * choices.step:.12g}") + 0.0 for number in range(steps + 1))


def combinations(numbers: Mapping[str, Range]) -> Iterator[dict[str, float]]:
    """Combinations of values for a question's numbers: all of them if there are few; otherwise the ends of all ranges
    and a few hundred random ones, the same in each call."""
    of_each = [values(choices) for choices in numbers.values()]
    few = math.prod(map(len, of_each)) <= FEW_COMBINATIONS
    tried = itertools.product(*(of_each if few else [(min(of_one), max(of_one)) for of_one in of_each]))
    for combination in itertools.islice(tried, FEW_COMBINATIONS):
        yield dict(zip(numbers, combination, strict=True))
    chance = random.Random("combinations")
    for _ in range(0 if few else FEW_COMBINATIONS):
        yield {name: chance.choice(of_one) for name, of_one in zip(numbers, of_each, strict=True)}


def drawn_words(numbers: Mapping[str, float], before: str = "") -> str:
    """Numbers with their values as part of a sentence; empty if there are none."""
    values = words.listed(f"{name} = {written(value)}" for name, value in numbers.items())
    return f"{before}with {values}" if values else ""


def measured(value: float) -> str:
    """A measured or guessed number: integers are exact, others have three digits: 262,144, 1.87, 3.45 M."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e6 else words.quantity(value)


def written(value: float) -> str:
    """A number as it is written in a question's text: 4, 0.25, 1e-06."""
    digits, e, power = f"{value + 0.0:.10g}".partition("e")
    return f"{digits}e{int(power)}" if e else digits
