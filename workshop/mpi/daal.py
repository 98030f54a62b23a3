"""Intel's oneDAL by its Python package daal4py, which several workloads have as a back end.

It runs on x86-64, under MPICH or Intel MPI, with which it was built, and lives in a folder of its own: what it depends
on would take the place of packages that the environment has.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.mpi import prefix

# daal4py with what it loads; not its dependency on scikit-learn, which the environment has.
PACKAGES = ("scikit-learn-intelex==2026.2.0", "daal==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0")
MPI = "mpich"  # the MPI to install for it
INSTALL = "workshop mpi install daal4py"
NUMBERS = {"float32": "float", "float64": "double"}


def folder() -> Path:
    """Where `INSTALL` puts it."""
    return config.cache_folder("bench") / "daal4py"


def install() -> Path:
    """Put daal4py into its folder, and return that. Raises WorkshopError."""
    prefix.install_packages(folder(), PACKAGES)
    return folder()


def missing(mpis: Collection[str]) -> dict[str, str]:
    """Which backend can't be had on this machine under any of these MPIs, and why."""
    if not set(mpis) & {"mpich", "intelmpi"}:
        return {"daal4py": "it needs MPICH or Intel MPI; `workshop mpi install mpich` installs one"}
    try:
        check_here("another one")
    except BadInput:
        return {"daal4py": f"it is not installed; `{INSTALL}` does that"}
    return {}


def usable(values: Mapping[str, Any], mpi: str, ranks: int) -> dict[str, Any] | None:
    """Return the tuner's values as they are; None where they don't go with the MPI: daal4py is for MPICH's kind."""
    return None if values.get("backend") == "daal4py" and mpi == "openmpi" else dict(values)


def path() -> str | None:
    """The folder that Python finds daal4py in, where it is installed."""
    return prefix.path(folder(), "daal4py")


def check_here(instead: str) -> None:
    """Raises BadInput where this machine can't run it with any MPI. `instead` is the backend to choose then."""
    if platform.machine() != "x86_64":
        raise BadInput(f"daal4py runs on x86-64 alone, this is {platform.machine()}; choose the backend {instead}.")
    if path() is None:
        raise BadInput(f"daal4py is not installed; `{INSTALL}` does that. Or choose the backend {instead}.")


def load(library: str, instead: str) -> Any:
    """Import daal4py, ready to be used; takes seconds. `library` is the MPI of the ranks, and `instead` the backend to
    choose where daal4py can't be had.

    Raises BadInput, on all ranks alike, where these ranks can't run it.
    """
    check_here(instead)
    if not library.startswith(("MPICH", "Intel")):
        raise BadInput(
            f"daal4py needs MPICH or Intel MPI, these ranks run under {library}; "
            f"start them with --mpi mpich, or choose the backend {instead}."
        )
    extra = path() or ""
    sys.path.append(extra)
    try:
        import daal4py
    finally:
        sys.path.remove(extra)
    daal4py.daalinit(int(os.environ.get("OMP_NUM_THREADS") or 1))
    return daal4py
