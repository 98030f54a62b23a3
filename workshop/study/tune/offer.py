"""What this machine has to offer the tuner."""

from __future__ import annotations

from typing import Any

from workshop.core.placement import MPI
from workshop.extension import Workload, load
from workshop.mpi import horovod, prefix
from workshop.study.tune.plan import Offer


def here(workload: Workload) -> Offer:
    """The MPIs that are installed, and what the workload has to do without."""
    others: list[MPI] = [name for name in ("mpich", "intelmpi") if name in prefix.installed()]
    missing: dict[Any, str] = {}
    if horovod.working() is None:
        why = horovod.build().why_not or "it can't be loaded"
        missing["horovod"] = f"{why}; `workshop horovod install` builds it"
    mpis: tuple[MPI, ...] = ("openmpi", *others)
    if workload.tuning is not None and workload.tuning.missing:
        missing |= load(workload.tuning.missing)(mpis)
    return Offer(mpis, missing)
