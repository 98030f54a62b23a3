"""All-reduce, measured by message size: written out, the MPI's own, Horovod's, a parameter server's. This file only
describes it."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from workshop.engine.fields import setting
from workshop.extension import Extension, Params, Preset, Workload

METHODS = ("ring", "own", "horovod", "parameter-server")
NUMBER = 4  # bytes of a float32
STEP = 4  # each size is so many times the one before
MIB = 1 << 20
BYTES: dict[str, Any] = {"unit": "bytes"}


class AllReduceParams(Params):
    """Which all-reduces to measure, and on what."""

    smallest: int = setting(NUMBER, "bytes of the smallest message", BYTES, ge=NUMBER, le=64 * MIB)
    largest: int = setting(64 * MIB, "bytes of the largest message", BYTES, ge=NUMBER, le=64 * MIB)
    repeats: int = Field(
        7,
        ge=3,
        le=1000,
        description="least repeats of each size, of which the lower quartile counts; small ones get more",
    )
    methods: str = Field(
        ",".join(METHODS),
        min_length=1,
        max_length=100,
        description=f"some of {', '.join(METHODS)}, with commas between",
    )

    @field_validator("methods")
    @classmethod
    def _are_known(cls, methods: str) -> str:
        names = [name.strip() for name in methods.split(",") if name.strip()]
        for name in names:
            if name not in METHODS:
                raise ValueError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
        if not names:
            raise ValueError(f"it should be some of {', '.join(METHODS)}")
        return ",".join(dict.fromkeys(names))

    @model_validator(mode="after")
    def _in_order(self) -> AllReduceParams:
        if self.smallest > self.largest:
            raise ValueError(f"smallest is {self.smallest}, which is more than largest, {self.largest}")
        return self

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(self.methods.split(","))

    @property
    def sizes(self) -> list[int]:
        """Bytes of each message, whole numbers of float32: each four times the one before, and the largest."""
        last = self.largest - self.largest % NUMBER
        sizes = [self.smallest - self.smallest % NUMBER]
        while sizes[-1] * STEP < last:
            sizes.append(sizes[-1] * STEP)
        return sizes if sizes[-1] == last else [*sizes, last]


WORKLOAD = Workload(
    name="allreduce",
    title="All-reduce",
    summary="Measures how long all ranks take to add up their arrays, by message size and by method.",
    params=AllReduceParams,
    function="workshop.workloads.allreduce.run:run",
    curves=(),
    opens="placement",
    metrics={
        "hosts": "hosts",
        "link_bandwidth": "bandwidth between hosts [B/s]",
        "memory_bandwidth": "copying within memory, each rank [B/s]",
        "stopped": "stopped early",
    },
    order=150,
    lab="first",
    verdict="workshop.workloads.allreduce.verdict:VERDICT",
    panels="workshop.workloads.allreduce.panels:PANELS",
    presets=(
        Preset("Small messages", "Latency decides, and the largest message matters little.", {"largest": 64 << 10}),
        Preset(
            "The ring against the server",
            "A parameter server receives all arrays, and a ring shares the work.",
            {"methods": "ring,parameter-server"},
            {"ranks": 4, "oversubscribe": True},
        ),
    ),
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
