"""Fields of params that several workloads share. Cheap to import."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

ADVANCED: dict[str, Any] = {"advanced": True}  # the form shows such a field only to who asks for it


def number(value: Any) -> Any:
    """A number from the command line's text; other text stays as it is. For fields with a few choices."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 9 else value


Data = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        description="auto (MNIST if it can be had, else the digits), mnist, digits, or a path of MNIST's files",
        json_schema_extra={"file": {"choices": ["auto", "mnist", "digits"], "types": ["npz"]}},
    ),
]
Exchange = Annotated[
    Literal["auto", "horovod", "mpi", "mpi-per-tensor", "parameter-server", "none"],
    Field(description="how ranks exchange gradients; auto: Horovod where it fits the session's MPI, else mpi"),
]
Target = Annotated[
    float, Field(gt=0, le=1, allow_inf_nan=False, description="held-out accuracy to which the time is taken")
]
Trace = Annotated[
    int, Field(ge=0, le=1000, description="steps of which the timeline is kept", json_schema_extra=ADVANCED)
]
