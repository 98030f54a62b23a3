"""What questions are written from: options, numbers that are drawn, tolerances, wrong answers that tell something."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Markdown = Annotated[str, Field(min_length=1, max_length=10_000)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
Seconds = Annotated[int, Field(ge=5, le=3600)]
Points = Annotated[float, Field(ge=0, le=100)]

Given = Annotated[float, Strict()] | str  # yes and no are no numbers

# What learners may compose in an answer to a question of placement: fields of `workshop.core.placement.Placement`.
Composed = Literal["ranks", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "threads"]


class DeckPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Picture(DeckPart):
    """A picture beside a question."""

    file: Line = Field(description="an SVG, PNG, JPEG or WebP file in the deck's folder")
    alt: Line = Field(description="what it shows, for those who can't see it")


class Range(DeckPart):
    """A number that each learner gets a value of: one of `values`, or one from `low` to `high` in such steps."""

    values: tuple[float, ...] = Field((), max_length=100, description="one of these")
    low: float | None = Field(None, description="the smallest one")
    high: float | None = Field(None, description="the largest one, if a step gets there")
    step: float = Field(1, gt=0, description="from one to the next")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Range:
        if bool(self.values) == (self.low is not None or self.high is not None):
            raise ValueError("a number is given as values, or as low and high")
        if not self.values and (self.low is None or self.high is None or self.low > self.high):
            raise ValueError("a number from low to high needs both, the smaller one as low")
        if not self.values and (self.high - self.low) / self.step > 10_000:
            raise ValueError("a number has at most 10,000 steps from low to high")
        return self


class Tolerance(DeckPart):
    """By how much a number may be off and is right: in its own unit, or as a share of the right one."""

    absolute: float | None = Field(None, ge=0, description="in the unit of the answer")
    relative: float | None = Field(None, ge=0, le=10, description="a share of the right answer: 0.1 is 10 %")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Tolerance:
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("a tolerance is absolute or relative")
        return self

    def around(self, value: float) -> float:
        """By how much an answer may be off from this right one."""
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(value)


class PollOption(DeckPart):
    """What can be chosen."""

    text: Markdown = Field(description="Markdown")


class Option(PollOption):
    """What can be chosen, and is right or wrong."""

    right: bool = Field(False, description="whether it is right")
    feedback: str = Field("", max_length=10_000, description="Markdown for whoever chose it")


class NearNumber(DeckPart):
    """A wrong number that tells what somebody thought."""

    answer: Given = Field(description="a number, or an expression of the question's numbers")
    tolerance: Tolerance | None = Field(None, description="default: the question's")
    feedback: Markdown = Field(description="Markdown for whoever answered it")


class NearText(DeckPart):
    """Wrong words that tell what somebody thought."""

    accept: tuple[Line, ...] = Field(min_length=1, max_length=20, description="its forms")
    feedback: Markdown = Field(description="Markdown for whoever answered it")


class Pair(DeckPart):
    """Two things that belong together."""

    left: Markdown = Field(description="Markdown; stays where it is")
    right: Markdown = Field(description="Markdown; what is to be found for it")


class RunWanted(DeckPart):
    """A run from which the right answer is computed."""

    workload: Name = Field(description="what to run, as in `workshop run`")
    params: dict[str, Any] = Field({}, description="its settings that the answer depends on; others may differ")
    placement: dict[str, Any] = Field({}, description="where it runs: ranks, map_by, bind_to, threads and so on")


class NearPlacement(DeckPart):
    """A wrong placement that tells what somebody thought."""

    placement: dict[str, Any] = Field(description="fields of ask; whatever puts the ranks there counts as this one")
    feedback: Markdown = Field(description="Markdown for whoever composed it")
