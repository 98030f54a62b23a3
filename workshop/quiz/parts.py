"""The parts of questions: options, random numbers, tolerances, and wrong answers that show a misconception."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

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
