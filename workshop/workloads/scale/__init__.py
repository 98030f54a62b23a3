"""Scaling: a training step put together from parts, a model of its time on more workers, and measured curves.

`exchange` has the time of an all-reduce by formula and by simulated messages, and `run` carries them out in a step.
`step` has what a machine was measured to do, and predicts from it. `regression` reads curves from files, and fits a
model of the step time on n workers to them. This file only describes the capability.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import setting
from workshop.extension import Command, Extension, Page, Params, Preset, Scaling, Workload

MS: dict[str, Any] = {"unit": "ms"}
BATCH = 32  # examples, to which the time `compute` refers
NUMBER = 4  # bytes of a float32
FORWARD = 1 / 3  # of the time of both passes: the backward pass has two products of matrices for one product forward


class StepParams(Params):
    """The parts of a step of data-parallel training. A rank waits as long as its work would take, so that many ranks
    share few cores."""

    batch: int = Field(BATCH, ge=1, le=4096, description="examples of each rank in a step")
    steps: int = Field(40, ge=2, le=2000, description="steps")
    compute: float = setting(20.0, f"time of the forward and backward pass of {BATCH} examples", MS, ge=0.1, le=1000)
    spread: float = setting(0.05, "standard deviation of this time, relative", ge=0, le=1)
    slow: float = setting(1.0, "times as long on the last rank: a straggler", ge=1, le=20)
    parameters: int = Field(250_000, ge=100, le=20_000_000, description="weights of the network, 4 bytes each")
    tensors: int = Field(10, ge=1, le=200, description="arrays that have the gradients")
    bucket: int = setting(
        1 << 30, "size of a message; 0: a message for each tensor", {"unit": "bytes"}, ge=0, le=1 << 30
    )
    algorithm: Literal["ring", "recursive-doubling", "tree", "hierarchical", "servers"] = Field(
        "ring", description="the all-reduce of the gradients"
    )
    servers: int = setting(1, "ranks that are parameter servers, too", when={"algorithm": "servers"}, ge=1, le=64)
    half: bool = Field(False, description="send float16: half the bytes")
    overlap: bool = Field(False, description="exchange a bucket while the backward pass computes the next ones")
    input: float = setting(1.0, "time to get the examples of a step", MS, ge=0, le=1000)
    evaluate_every: int = Field(0, ge=0, le=2000, description="steps between evaluations; 0: none")
    evaluation: float = setting(30.0, "time of an evaluation", MS, ge=0, le=5000)
    checkpoint_every: int = Field(0, ge=0, le=2000, description="steps between checkpoints of rank 0; 0: none")
    checkpoint: float = setting(30.0, "time of a checkpoint", MS, ge=0, le=5000)
    per_host: int = Field(0, ge=0, le=64, description="ranks of an emulated host; 0: no hosts are emulated")
    latency: float = setting(500.0, "latency of the link between emulated hosts", {"unit": "µs"}, ge=0, le=100_000)
    bandwidth: float = setting(50.0, "bandwidth of this link", {"unit": "MB/s"}, ge=0.1, le=100_000)
    calibrate: bool = Field(True, description="measure the parts by themselves before the steps")
    seed: int = Field(0, ge=0, le=2**31, description="seed of the drawn times")

    @model_validator(mode="after")
    def _fits(self) -> StepParams:
        if self.tensors > self.parameters:
            raise ValueError(f"tensors is {self.tensors}, but there are {self.parameters} weights; take fewer tensors")
        return self

    @property
    def tensor_sizes(self) -> list[int]:
        """The weights of each tensor; sizes differ by one at most."""
        edges = [self.parameters * number // self.tensors for number in range(self.tensors + 1)]
        return [after - first for first, after in pairwise(edges)]

    @property
    def buckets(self) -> list[list[int]]:
        """The numbers of the tensors of each message, in the order in which the backward pass computes them."""
        limit, sizes, room = self.bucket // NUMBER, self.tensor_sizes, 0
        buckets: list[list[int]] = []
        for number, size in enumerate(sizes):
            if not buckets or size > room:
                buckets.append([])
                room = limit
            buckets[-1].append(number)
            room -= size
        return buckets

    @property
    def number_bytes(self) -> int:
        """The bytes of a number on the way."""
        return NUMBER // 2 if self.half else NUMBER


def _check_ranks(params: StepParams, inputs: Any, ranks: int) -> None:
    from workshop.core.errors import BadInput

    if params.algorithm == "servers" and params.servers > ranks:
        raise BadInput(f"servers is {params.servers}, but there are {ranks} ranks; take 1 to {ranks}.")


WORKLOAD = Workload(
    name="training-step",
    title="Synthetic training step",
    summary="Puts a training step together from compute, exchange, input and stragglers, and measures each part.",
    params=StepParams,
    function="workshop.workloads.scale.run:run",
    fits=_check_ranks,
    curves=("step",),
    results=("examples_per_second", "steps"),
    metrics={
        "examples_per_second": "rate of all ranks [examples/s]",
        "steps": "steps",
        "seconds.step": "a step, on average [s]",
        "seconds.compute": "compute of a rank [s]",
        "seconds.stragglers": "waiting for the slowest rank [s]",
        "seconds.exchange": "exchange that nothing hides [s]",
    },
    notes={"step": "The time of each step on rank 0."},
    scaling=Scaling(rate="examples_per_second", unit="examples/s"),
    rules="workshop.workloads.scale",
    order=700,
    threads=lambda params: 1,
    presets=(
        Preset("Eight ranks behind a slow link", "The exchange takes longer than the work.",
               {"per_host": 2}, {"ranks": 8, "oversubscribe": True}),
        Preset("One slow rank", "All ranks wait for the slowest.", {"slow": 1.5}, {"ranks": 4, "oversubscribe": True}),
        Preset("Parameter servers", "Two of four ranks also serve the weights: more servers share the messages.",
               {"per_host": 1, "algorithm": "servers", "servers": 2}, {"ranks": 4, "oversubscribe": True}),
        Preset("Overlap", "The exchange hides behind the backward pass.",
               {"per_host": 1, "overlap": True, "bucket": 100_000}, {"ranks": 4, "oversubscribe": True}),
    ),
)  # fmt: skip

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    pages=(
        Page(
            "scale",
            "Scale to 2,048 nodes",
            "stacked_line_chart",
            "workshop.workloads.scale.page:page",
            order=470,
            summary="Predict from a run on this machine how fast a cluster of up to 2,048 nodes trains.",
            picture=Path(__file__).parent / "scale.svg",
        ),
    ),
    commands=(Command("", "scale", "workshop.workloads.scale.command:app", order=600),),
)
