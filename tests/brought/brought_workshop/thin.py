"""Open MPI under another name. Its ranks have one variable more."""

from workshop.mpi import openmpi
from workshop.mpi.openmpi import (
    FORWARDS,
    SHARES,
    alone,
    arguments,
    assignments,
    check,
    death,
    early_exit,
    exports,
    in_slurm,
    launcher,
    over_ssh,
    refusal,
    refuses,
)

__all__ = [
    "FORWARDS", "SHARES", "alone", "arguments", "assignments", "check", "death", "early_exit", "environment", "exports",
    "in_slurm", "launcher", "over_ssh", "refusal", "refuses", "version",
]  # fmt: skip


def version():
    return "0.1"


def environment(placement=None):
    return openmpi.environment(placement) | {"BROUGHT_MPI": "thin"}
