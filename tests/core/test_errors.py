"""What is said of bad input: one sentence with what is wrong, where, and what would be right."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from workshop.core.errors import bad_input


class Model(BaseModel, extra="forbid"):
    whole: int = Field(1, ge=0, le=9)
    number: float = Field(1.0, gt=0, allow_inf_nan=False)
    switch: bool = True
    text: str = Field("a", min_length=1, max_length=5)
    longer: str = Field("abc", min_length=3)
    way: Literal["mpi", "mpi-per-tensor", "none"] = "mpi"
    size: Literal[1, 2] = 1
    some: Annotated[int, Field(ge=1)] | None = None
    items: list[int] = Field([1], min_length=1)
    table: dict[str, int] = {}
    odd: int = 1

    @field_validator("odd")
    @classmethod
    def _is_odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError(f"{value} is even")
        return value


def said(**values: object) -> str:
    with pytest.raises(ValidationError) as refused:
        Model.model_validate(values)
    return str(bad_input(refused.value, "thing"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"whole": "many"}, "whole is 'many': it should be a whole number"),
        ({"whole": 10}, "whole is 10: it should be at most 9"),
        ({"number": "nan"}, "number is 'nan': it should be a finite number"),
        ({"number": 0}, "number is 0: it should be greater than 0"),
        ({"switch": "maybe"}, "switch is 'maybe': it should be yes or no"),
        ({"text": ""}, "text is '': it should not be empty"),
        ({"text": "abcdef"}, "text is 'abcdef': it should have at most 5 characters"),
        ({"way": "smoke"}, "way is 'smoke': it should be mpi, mpi-per-tensor or none"),
        ({"items": []}, "items is []: it should not be empty"),
        ({"table": 1}, "table is 1: it should be a dictionary"),
        ({"odd": 2}, "odd: 2 is even"),
        ({"nonsense": 1}, "nonsense is not one of its settings"),
        ({"way": "x", "switch": "z"}, "switch is 'z': it should be yes or no; way is 'x': it should be mpi, "),
    ],
)
def test_one_sentence(values: dict[str, object], sentence: str) -> None:
    assert said(**values).startswith(f"thing: {sentence}")


def test_what_was_given_is_kept_short() -> None:
    told = said(whole="1" * 5000)
    assert told.endswith("it should be a smaller whole number") and len(told) < 150
