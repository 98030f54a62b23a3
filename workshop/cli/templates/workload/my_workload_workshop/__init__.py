"""My workload: many ranks throw darts, and together they estimate pi. This file only describes the workload's parts."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from workshop.extension import Decks, Extension, Lab, Page, Params, Scaling, Workload

LABS = Path(__file__).parent / "labs"


class MyWorkloadParams(Params):
    """How many darts to throw. Every field is an option of the command line, and a field of the dashboard's form."""

    darts: int = Field(200_000, ge=1, le=5_000_000, description="darts that each rank throws in a step")
    steps: int = Field(100, ge=1, le=100_000, description="steps; after each, all ranks add up their hits")
    seed: int = Field(0, ge=0, description="seed of the random numbers; every rank has numbers of its own")


WORKLOAD = Workload(
    name="my_workload",
    title="My workload",
    summary="Estimates pi on all ranks with random darts.",
    params=MyWorkloadParams,
    function="my_workload_workshop.ranks:run",
    curves=("total darts/s",),
    results=("estimate", "error", "darts_per_second"),
    scaling=Scaling(rate="darts_per_second", unit="darts/s", share="darts", live="total darts/s"),
    rules="my_workload_workshop",
    panels="my_workload_workshop.report:PANELS",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    pages=(
        Page(
            "my-workload",
            "My workload",
            "target",
            "my_workload_workshop.page:main",
            summary="Random darts estimate pi: how many are needed?",
        ),
    ),
    labs=(Lab(LABS / "my-workload"),),
    decks=(Decks(LABS),),
)
