"""Collectives and point-to-point messages by size, as the OSU micro-benchmarks measure them (Ohio State University,
https://mvapich.cse.ohio-state.edu/benchmarks/). This file only describes the workload.

`operations` has every operation with its buffers, `run` measures them, and `algorithms` asks Open MPI which algorithm
it chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from workshop.core.errors import BadInput
from workshop.engine.fields import setting
from workshop.extension import Extension, Params, Preset, Workload
from workshop.mpi.tool_interface import MONITORING

Operation = Literal[
    "all", "latency", "bandwidth", "bidirectional",
    "bcast", "reduce", "allreduce", "allgather", "reduce_scatter", "alltoall", "barrier",
]  # fmt: skip
PAIRS = get_args(Operation)[1:4]  # between two ranks
COLLECTIVES = get_args(Operation)[4:]
NUMBER = 4  # bytes of a float32
SMALL = 8192  # bytes of the largest message that gets all iterations, as in OSU's benchmarks
FEWEST = 10  # iterations
MIB = 1 << 20
BYTES: dict[str, Any] = {"unit": "bytes"}
# Variables with which Open MPI counts the messages of each collective, and takes orders on algorithms.
COUNTED = {MONITORING: "1", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


class CollectiveParams(Params):
    """The operations to measure, and the sizes of their messages.

    A size is the bytes of one message between two ranks, the whole array for bcast, reduce and allreduce, the bytes
    that each rank contributes to allgather, each rank's whole array before reduce_scatter, and the bytes that each rank
    sends to every other one in alltoall. A barrier has no data.
    """

    operation: Operation = Field("all", description="what to measure, as OSU calls it")
    smallest: int = setting(NUMBER, "smallest message", BYTES, ge=NUMBER, le=1024 * MIB)
    largest: int = setting(MIB, "largest message", BYTES, ge=NUMBER, le=1024 * MIB)
    iterations: int = Field(
        1000, ge=FEWEST, le=100_000, description="most iterations of messages up to 8 KiB; larger ones get fewer"
    )

    @model_validator(mode="after")
    def _in_order(self) -> CollectiveParams:
        if self.smallest > self.largest:
            raise ValueError(f"smallest is {self.smallest}, which is more than largest, {self.largest}")
        return self

    def operations_on(self, ranks: int) -> list[str]:
        """The operations that so many ranks measure: on one rank, all are the collectives."""
        names = [*PAIRS, *COLLECTIVES] if self.operation == "all" else [self.operation]
        return [name for name in names if ranks > 1 or name not in PAIRS]

    @property
    def sizes(self) -> list[int]:
        """Bytes of each message, whole numbers of float32: each twice the one before, and the largest."""
        size, last = self.smallest - self.smallest % NUMBER, self.largest - self.largest % NUMBER
        sizes = []
        while size < last:
            sizes.append(size)
            size *= 2
        return [*sizes, last]


def check_ranks(params: CollectiveParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse messages between two ranks where there is one. Raises BadInput."""
    if params.operation in PAIRS and ranks < 2:
        raise BadInput(f"The operation {params.operation} needs two ranks, and this run has 1; try --ranks 2.")


WORKLOAD = Workload(
    name="collectives",
    title="Collectives and messages",
    summary="Measures messages between two ranks and collectives by size, in the words of the OSU benchmarks.",
    params=CollectiveParams,
    function="workshop.workloads.collectives.run:run",
    fits=check_ranks,
    curves=(),
    opens="placement",
    metrics={"algorithms_unknown": "chosen algorithms", "stopped": "stopped early"},
    order=690,
    lab="ring",
    verdict="workshop.workloads.collectives.verdict:VERDICT",
    panels="workshop.workloads.collectives.panels:PANELS",
    threads=lambda params: 1,
    presets=(
        Preset("Two ranks", "Latency decides for small messages, bandwidth for large ones.",
               {"operation": "latency", "largest": 4 * MIB}, {"ranks": 2}),
        Preset("The chosen algorithms", "Open MPI takes another algorithm for larger messages.",
               {"operation": "allreduce"}, {"ranks": 4, "oversubscribe": True, "environment": COUNTED}),
    ),
)  # fmt: skip

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
