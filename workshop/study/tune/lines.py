"""Command lines for what the tuner has found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.mpi import command_lines
from workshop.registry import workload
from workshop.report.command_line import params_of, run_command
from workshop.study.tune.asked import Asked
from workshop.study.tune.space import chosen_params, placed


def workshop(name: str, asked: Asked, point: Mapping[str, Any]) -> str:
    """`workshop run …` on the placement at a point."""
    return run_command(workload(name), _params(asked, point), placed(point, asked.placement))


def launcher(name: str, asked: Asked, point: Mapping[str, Any]) -> str | None:
    """The launcher of the point's own MPI, with its own options and without a session; None where it has no words for
    the placement."""
    where = placed(point, asked.placement)
    said = command_lines.words(where.mpi, where, asked.cores)
    if said is None:
        return None
    program = ["python", "-m", "workshop.engine", name, *params_of(workload(name), _params(asked, point))]
    return " ".join(command_lines.quoted(word) for word in [*said, *program])


def _params(asked: Asked, point: Mapping[str, Any]) -> dict[str, Any]:
    """The workload's params: what was asked for, each rank's share, and what was found."""
    values = {**asked.load, **chosen_params(point)}
    if asked.share:
        values[asked.share] = asked.params[asked.share] // point["ranks"]
    return values
