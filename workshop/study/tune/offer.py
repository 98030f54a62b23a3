"""What this machine has to offer the tuner."""

from __future__ import annotations

from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import MPI
from workshop.mpi import horovod, prefix
from workshop.study.tune.plan import Offer


def here() -> Offer:
    """The MPIs that are installed, and what workloads have to do without."""
    from workshop.workloads.kmeans import daal

    others: list[MPI] = [name for name in ("mpich", "intelmpi") if name in prefix.installed()]
    missing: dict[Any, str] = {}
    if horovod.working() is None:
        why = horovod.build().why_not or "it can't be loaded"
        missing["horovod"] = f"{why}; `workshop horovod install` builds it"
    if not others:
        missing["daal4py"] = "it needs MPICH or Intel MPI; `workshop mpi install mpich` installs one"
    else:
        try:
            daal.check_here()
        except BadInput:
            missing["daal4py"] = f"it is not installed; `{daal.INSTALL}` does that"
    return Offer(("openmpi", *others), missing)
