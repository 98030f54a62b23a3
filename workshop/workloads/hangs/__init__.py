"""Hangs: `workshop watch` says which rank keeps the others waiting, at which line, and why.

`recorder` runs inside each rank and writes its MPI calls down, `sampler` reads what ranks do, `diagnosis` says what
keeps them, and `command` is the command. This file only describes the capability.
"""

from __future__ import annotations

from workshop.extension import Command, Extension

EXTENSION = Extension(
    commands=(
        Command(
            "", "watch", "workshop.workloads.hangs.command:watch", order=620,
            options={"context_settings": {"allow_interspersed_args": False}},  # options behind the command are its own
        ),
    ),
)  # fmt: skip
