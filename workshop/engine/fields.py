"""Fields of params that several workloads share. Cheap to import.

Knobs for the tuner of workloads that exchange gradients.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from workshop.mpi import horovod

ADVANCED: dict[str, Any] = {"advanced": True}  # the form shows such a field only to who asks for it


def number(value: Any) -> Any:
    """A number from the command line's text; other text stays as it is. For fields with a few choices."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 9 else value


def setting(
    default: Any, description: str, part: Mapping[str, Any] | None = None, when: Any = None, **limits: Any
) -> Any:
    """Return a field in a part of the form. It is shown only `when` other fields have these values."""
    extra = {**(part or {}), **({"when": when} if when else {})}
    return Field(default, description=description, json_schema_extra=extra or None, **limits)


Data = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        description="auto (MNIST if it can be had, else the digits), mnist, digits, or the path of an npz file",
        json_schema_extra={"file": {"choices": ["auto", "mnist", "digits"], "types": ["npz"]}},
    ),
]
Exchange = Annotated[
    Literal["auto", "horovod", "mpi", "mpi-overlap", "mpi-per-tensor", "hierarchical", "parameter-server", "none"],
    Field(description="how ranks exchange gradients; auto: mpi, the fastest that averages over all ranks"),
]
Compression = Annotated[
    Literal["none", "float16", "bfloat16", "8bit", "topk"],
    Field(
        description="format of gradients on their way; what it loses is added to the next step's",
        json_schema_extra=ADVANCED,
    ),
]
Keep = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="share of the gradients that topk sends, the largest ones",
        json_schema_extra={"when": {"compression": "topk"}, **ADVANCED},
    ),
]
Bucket = Annotated[
    float,
    Field(
        gt=0,
        le=1024,
        description="gradients that leave together while others are still computed",
        json_schema_extra={"when": {"exchange": "mpi-overlap"}, "unit": "MB", **ADVANCED},
    ),
]
Accumulate = Annotated[
    int,
    Field(
        ge=1,
        le=64,
        description="batches whose gradients a rank adds up between two exchanges",
        json_schema_extra=ADVANCED,
    ),
]
COMPRESSED = ("mpi", "mpi-overlap", "mpi-per-tensor", "hierarchical")  # exchanges that know all formats


def check_compression(exchange: str, compression: str) -> None:
    """Refuse a format that the exchange can't send. Raises ValueError."""
    if compression == "none" or exchange in ("auto", *COMPRESSED):
        return
    if exchange == "horovod" and compression != "float16":
        raise ValueError(
            f"compression is {compression}, but Horovod can only send float16; choose float16, or the exchange mpi"
        )
    if exchange != "horovod":
        raise ValueError(
            f"compression is {compression}, but the exchange {exchange} can't compress; choose mpi, mpi-overlap, "
            "hierarchical or horovod"
        )


Target = Annotated[float, Field(gt=0, le=1, description="held-out accuracy to which the time is taken")]
Trace = Annotated[
    int, Field(ge=0, le=1000, description="steps of which the timeline is kept", json_schema_extra=ADVANCED)
]


CYCLE = "env.HOROVOD_CYCLE_TIME"  # milliseconds between Horovod's looks for work; 1 unless somebody sets it
KNOBS: Mapping[str, tuple[Any, ...]] = {
    "exchange": ("horovod", "mpi", "mpi-per-tensor", "parameter-server"),
    CYCLE: (None, "0.2", "5"),
}
# Exchanges that do the same where there is nobody to exchange with; the first of them stands for all.
ALONE = ("mpi", "mpi-per-tensor", "parameter-server", "none")


def missing(mpis: Collection[str]) -> dict[str, str]:
    """Return which exchange can't be had on this machine, with the reason."""
    if horovod.working() is not None:
        return {}
    why = horovod.build().obstacle or "it can't be loaded"
    return {"horovod": f"{why}; `workshop horovod install` builds it"}


def usable(values: Mapping[str, Any], mpi: str, ranks: int) -> dict[str, Any] | None:
    """Return the values of knobs that do the same with so many ranks; None where they don't go with the MPI: Horovod
    is linked to Open MPI."""
    exchange = values.get("exchange")
    if exchange == "horovod":
        return dict(values) if mpi == "openmpi" else None
    alone = {"exchange": ALONE[0]} if ranks == 1 and exchange in ALONE else {}
    return {**values, **alone, **({CYCLE: None} if CYCLE in values else {})}
