"""All-reduces, measured by message size: written out, the MPI's own, Horovod's, a parameter server's. So are the
operations of the OSU micro-benchmarks (Ohio State University, https://mvapich.cse.ohio-state.edu/benchmarks/). This
file only describes the workload.

`methods` has the all-reduces and `operations` the others, `run` measures them, and `algorithms` asks Open MPI which
algorithm it chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from workshop.core.errors import BadInput
from workshop.engine.fields import setting
from workshop.extension import Extension, Params, Preset, Workload
from workshop.mpi.tool_interface import MONITORING

Operation = Literal[
    "allreduce", "latency", "bandwidth", "bidirectional",
    "bcast", "reduce", "allgather", "reduce_scatter", "alltoall", "barrier", "all",
]  # fmt: skip
PAIRS = get_args(Operation)[1:4]  # between two ranks
COLLECTIVES = ("allreduce", *get_args(Operation)[4:-1])

METHODS = ("ring", "own", "horovod", "parameter-server")
NUMBER = 4  # bytes of a float32
STEP = 4  # each size is so many times the one before
MIB = 1 << 20
BYTES: dict[str, Any] = {"unit": "bytes"}
# Variables with which Open MPI counts the messages of each collective, and takes orders on algorithms.
COUNTED = {MONITORING: "1", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


class AllReduceParams(Params):
    """The operation to measure, and its messages.

    A size is the bytes of one message between two ranks, the whole array for bcast, reduce and allreduce, the bytes
    that each rank contributes to allgather, each rank's whole array before reduce_scatter, and the bytes that each rank
    sends to every other one in alltoall. A barrier has no data.
    """

    operation: Operation = Field(
        "allreduce", description="allreduce by several methods, another operation as OSU calls it, or all of OSU's"
    )
    smallest: int = setting(NUMBER, "bytes of the smallest message", BYTES, ge=NUMBER, le=64 * MIB)
    largest: Annotated[int, Field(ge=NUMBER, le=64 * MIB)] | None = setting(
        None, "bytes of the largest message; empty: 64 MiB for allreduce, 1 MiB for the others", BYTES
    )
    repeats: int = Field(
        7,
        ge=3,
        le=1000,
        description="least repeats of each size, of which the lower quartile counts; small ones get more",
    )
    methods: str = setting(
        ",".join(METHODS),
        f"some of {', '.join(METHODS)}, with commas between",
        when={"operation": "allreduce"},
        min_length=1,
        max_length=100,
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
        if self.smallest > self.most:
            raise ValueError(f"smallest is {self.smallest}, which is more than largest, {self.most}")
        return self

    @property
    def most(self) -> int:
        """Bytes of the largest message."""
        return self.largest or (64 * MIB if self.operation == "allreduce" else MIB)

    def chosen(self, ranks: int) -> tuple[str, ...]:
        """The methods or operations that so many ranks measure: on one rank, all are the collectives."""
        if self.operation == "allreduce":
            return tuple(self.methods.split(","))
        names = (*PAIRS, *COLLECTIVES) if self.operation == "all" else (self.operation,)
        return tuple(name for name in names if ranks > 1 or name not in PAIRS)

    @property
    def sizes(self) -> list[int]:
        """Bytes of each message, whole numbers of float32: each four times the one before, and the largest."""
        last = self.most - self.most % NUMBER
        sizes = [self.smallest - self.smallest % NUMBER]
        while sizes[-1] * STEP < last:
            sizes.append(sizes[-1] * STEP)
        return sizes if sizes[-1] == last else [*sizes, last]


def check_ranks(params: AllReduceParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse messages between two ranks where there is one. Raises BadInput."""
    if params.operation in PAIRS and ranks < 2:
        raise BadInput(f"The operation {params.operation} needs two ranks, and this run has 1; try --ranks 2.")


WORKLOAD = Workload(
    name="allreduce",
    title="All-reduce and messages",
    summary="Measures how long all-reduces, other collectives and messages take, by size and by method.",
    params=AllReduceParams,
    function="workshop.workloads.allreduce.run:run",
    fits=check_ranks,
    curves=(),
    star="bandwidth",
    metrics={
        "algorithms_unknown": "chosen algorithms",
        "hosts": "hosts",
        "link_bandwidth": "bandwidth between hosts [B/s]",
        "memory_bandwidth": "copying within memory, each rank [B/s]",
        "stopped": "stopped early",
    },
    order=150,
    lab="first",
    rules="workshop.workloads.allreduce",
    panels="workshop.workloads.allreduce.panels:PANELS",
    threads=lambda params: 1,
    presets=(
        Preset("Small messages", "Latency decides, and the largest message matters little.", {"largest": 64 << 10}),
        Preset(
            "The ring against the server",
            "A parameter server receives all arrays, and a ring shares the work.",
            {"methods": "ring,parameter-server"},
            {"ranks": 4, "oversubscribe": True},
        ),
        Preset(
            "Messages between two ranks",
            "Latency decides for small messages, bandwidth for large ones.",
            {"operation": "latency", "largest": 4 * MIB},
            {"ranks": 2},
        ),
        Preset(
            "The chosen algorithms",
            "Open MPI takes another algorithm for larger messages.",
            {"methods": "own", "largest": MIB},
            {"ranks": 4, "oversubscribe": True, "environment": COUNTED},
        ),
    ),
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
