"""Command lines for what the tuner has found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from workshop.commands import options_of
from workshop.mpi import command_lines
from workshop.study.tune.asked import Asked
from workshop.study.tune.space import chosen_params, placed
from workshop.workloads import workload


def workshop(name: str, asked: Asked, point: Mapping[str, Any]) -> str:
    """`workshop run …` on the placement at a point."""
    where = placed(point, asked.placement)
    hosts = ",".join(f"{host.name}:{host.slots}" for host in where.hosts)
    said = ["workshop", "run", name, *options_of(where), *_params(name, asked, point)]
    return shlex.join([*said, *(["--hosts", hosts] if hosts else [])])


def launcher(name: str, asked: Asked, point: Mapping[str, Any]) -> str | None:
    """The launcher of the point's own MPI, with its own options and without a session; None where it has no words for
    the placement."""
    where = placed(point, asked.placement)
    said = command_lines.words(where.mpi, where, asked.cores)
    if said is None:
        return None
    program = ["python", "-m", "workshop.engine", name, *_params(name, asked, point)]
    return " ".join(command_lines.quoted(word) for word in [*said, *program])


def _params(name: str, asked: Asked, point: Mapping[str, Any]) -> list[str]:
    """The workload's options: what was asked for, each rank's share, and what was found."""
    values = {**asked.load, **chosen_params(point)}
    if asked.share:
        values[asked.share] = asked.params[asked.share] // point["ranks"]
    fields = workload(name).params.model_fields
    return [
        word
        for param, value in values.items()
        if value is not None and fields[param].default != value
        for word in (f"--{param.replace('_', '-')}", _word(value))
    ]


def _word(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
