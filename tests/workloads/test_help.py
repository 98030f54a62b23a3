"""What an option's help says of a workload's param."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field

from workshop.extension import Params, help_of
from workshop.registry import workloads


class Probe(Params):
    count: int = Field(3, description="how many")
    small: float = 1e-4
    needed: int = Field(description="no default")
    empty: str = Field("", description="a path")
    some: Annotated[int, Field(ge=1)] | None = Field(None, description="so many; empty: all")
    on: bool = Field(True, description="a switch")
    perhaps: bool | None = None
    way: Literal["mpi", "horovod", "none"] = Field("mpi", description="how")
    one: Literal["only"] = "only"
    either: Literal["a", "b"] | None = None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("count", "how many (default: 3)"),
        ("small", "small (default: 0.0001)"),
        ("needed", "no default"),
        ("empty", "a path"),
        ("some", "so many; empty: all"),
        ("on", "a switch (yes or no; default: yes)"),
        ("perhaps", "perhaps (yes or no)"),
        ("way", "how (mpi, horovod or none; default: mpi)"),
        ("one", "one (only; default: only)"),
        ("either", "either (a or b)"),
    ],
)
def test_help_of_a_param(name: str, told: str) -> None:
    assert help_of(name, Probe.model_fields[name]) == told


def test_no_param_of_ours_shows_python() -> None:
    for known in workloads().values():
        for name, field in known.params.model_fields.items():
            told = help_of(name, field)
            assert not any(word in told for word in ("True", "False", "None", "default: )", "Undefined")), told
