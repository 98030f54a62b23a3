"""Hangs: `workshop watch` says for which rank the others wait, at which line, and why.

`recorder` runs inside each rank and writes its MPI calls down, `sampler` reads what ranks do (`states`), `diagnosis`
finds which ranks wait for which and why, and `command` is the command. `examples` is the catalogue of hangs,
which `page` shows as guided failures; `run` runs one below the command, for the workload and the bench. This file only
describes the capability.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from workshop.extension import Command, Extension, Page, Params, Preset, Workload


class HangParams(Params):
    """The program of the catalogue, and how long its ranks have to stand still."""

    example: str = Field("receives-in-circle", description="program that hangs, a file of labs/failures/hangs")
    after: float = Field(
        2.0, ge=0.5, le=10, description="time without any progress before the doctor looks",
        json_schema_extra={"unit": "s"},
    )  # fmt: skip

    @field_validator("example")
    @classmethod
    def _is_of_catalogue(cls, name: str) -> str:
        from workshop.workloads.hangs import examples  # which imports an MPI's module

        return examples.example(name).name


def _processes(params: HangParams) -> int:
    from workshop.workloads.hangs import examples

    return examples.example(params.example).size


WORKLOAD = Workload(
    name="hang",
    title="A program that hangs",
    summary="Runs a program whose ranks wait for each other, and says for which rank the others wait, where, and why.",
    params=HangParams,
    function="workshop.workloads.hangs.run:run",
    processes=_processes,
    curves=(),
    results=("kind", "seconds"),
    metrics={
        "hang": "can't end by itself",
        "kind": "kind of the hang",
        "ranks": "ranks for which the others wait",
        "seconds.still": "time without a move",
        "seconds.run": "time of the program",
    },
    order=660,
    star="hang",
    lab="faults",
    rules="workshop.workloads.hangs",
    panels="workshop.workloads.hangs.report:PANELS",
    failures="workshop.workloads.hangs.examples:failures",
    presets=(
        Preset("A circle", "Each rank waits for the other one.", {"example": "receives-in-circle"}, {"ranks": 1}),
        Preset("A branch", "Only one of the ranks calls the barrier.", {"example": "barrier-in-branch"}, {"ranks": 1}),
        Preset("Uneven batches", "Look at the number of each rank's last barrier.", {"example": "uneven-batches"},
               {"ranks": 1}),
        Preset("An exception", "The exception is on one rank, and the wait on the others.", {"example": "raised"},
               {"ranks": 1}),
    ),
)  # fmt: skip

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    pages=(
        Page(
            "hangs",
            "Hangs",
            "hourglass_disabled",
            "workshop.workloads.hangs.page:page",
            order=465,
            summary="Thirty programs that never end: which rank waits in which call, and for whom?",
            picture=Path(__file__).parent / "hangs.svg",
        ),
    ),
    commands=(
        Command(
            "", "watch", "workshop.workloads.hangs.command:watch", order=620,
            options={"context_settings": {"allow_interspersed_args": False}},  # options behind the command are its own
        ),
    ),
)  # fmt: skip
