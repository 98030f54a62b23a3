"""Knobs for the tuner of workloads that exchange gradients."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workshop.mpi import horovod

CYCLE = "env.HOROVOD_CYCLE_TIME"  # milliseconds between Horovod's looks for work; 1 unless somebody sets it
KNOBS: Mapping[str, tuple[Any, ...]] = {
    "exchange": ("horovod", "mpi", "mpi-per-tensor", "parameter-server"),
    CYCLE: (None, "0.2", "5"),
}
# Exchanges that do the same where there is nobody to exchange with; the first of them stands for all.
ALONE = ("mpi", "mpi-per-tensor", "parameter-server", "none")


def missing(mpis: Collection[str]) -> dict[str, str]:
    """Return which exchange can't be had on this machine, with the reason."""
    if horovod.working() is not None:
        return {}
    why = horovod.build().obstacle or "it can't be loaded"
    return {"horovod": f"{why}; `workshop horovod install` builds it"}


def usable(values: Mapping[str, Any], mpi: str, ranks: int) -> dict[str, Any] | None:
    """Return the values of knobs that do the same with so many ranks; None where they don't go with the MPI: Horovod
    is linked to Open MPI."""
    exchange = values.get("exchange")
    if exchange == "horovod":
        return dict(values) if mpi == "openmpi" else None
    alone = {"exchange": ALONE[0]} if ranks == 1 and exchange in ALONE else {}
    return {**values, **alone, **({CYCLE: None} if CYCLE in values else {})}
