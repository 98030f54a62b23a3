"""Hangs: `workshop watch` says which rank keeps the others waiting, at which line, and why.

`recorder` runs inside each rank and writes its MPI calls down, `sampler` reads what ranks do (`states`), `waits` finds
which ranks wait for which, `diagnosis` says why, and `command` is the command. `examples` is the catalogue of hangs,
and `bench` runs it. This file only describes the capability.
"""

from __future__ import annotations

from workshop.extension import Command, Extension

EXTENSION = Extension(
    commands=(
        Command(
            "", "watch", "workshop.workloads.hangs.command:watch", order=620,
            options={"context_settings": {"allow_interspersed_args": False}},  # options behind the command are its own
        ),
        Command("bench", "doctor", "workshop.workloads.hangs.bench_command:doctor", order=570),
    ),
)  # fmt: skip
