"""One module per MPI (`openmpi`, `mpich`, `intelmpi`), all with the same functions: see `module_of`. `system` is the
centre's own MPI, which may be any of them, or be started by `srun`.

`mapper` asks an MPI where ranks would go; `advice` proposes changes to what an MPI refuses. `command_lines` writes
commands and `reader` reads what people type. `reports` reads what MPIs print. `prefix` keeps other MPIs apart.
`hydra` is what MPICH and Intel MPI share, `rules` what is known of an MPI without asking it, and `horovod` whether
Horovod is built. `pinning` and `mvapich2` have the documented rules by which Intel MPI and MVAPICH2 bind ranks.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from workshop.core.errors import BadInput
from workshop.mpi.implementations import IMPLEMENTATIONS, implementation

INSTALL = {  # of `workshop mpi install`: references to functions that return the folder
    "mpich": "workshop.mpi.mpich:install",
    "intelmpi": "workshop.mpi.intelmpi:install",
    "daal4py": "workshop.mpi.daal:install",
}
REFUSES = "refuses this placement, in its own words:"  # behind the MPI's name, wherever one is quoted


def module_of(name: str) -> Any:
    """The module of an MPI. Raises BadInput for an unknown one.

    `mpich.py` is a short one. All of them have

    - `launcher`, `version`, `arguments`, `environment` and `alone`: the command line and its variables;
    - `exports` and `assignments`: the options that give variables to ranks, by name alone and with their values.
      `FORWARDS` says whether the launcher also gives ranks all variables that it has itself;
    - `over_ssh` and `in_slurm`: the variables by which the launcher reaches other hosts, and a job's nodes;
    - `SHARES`: whether ranks may share cores and slots even if nobody allows it;
    - perhaps `tolerance`: the options and variables with which ranks can go on after others have died;
    - `refuses` and `refusal`, `death` and `early_exit`: the reason why ranks did not start, or have ended, as the
      launcher prints it.
    """
    return importlib.import_module(f"workshop.mpi.{implementation(name).name}")


def tolerant(name: str) -> bool:
    """Whether ranks of an MPI can go on after others have died. Raises BadInput."""
    return hasattr(module_of(name), "tolerance")


def installed() -> list[str]:
    """The names of the MPIs that are on this machine, in their order; the system's own where somebody has named it."""
    names = []
    for name in IMPLEMENTATIONS:
        with contextlib.suppress(BadInput):
            if name == "system" and not module_of(name).named():
                continue
            module_of(name).launcher()
            names.append(name)
    return names


def mpis() -> dict[str, dict[str, Any]]:
    """Every MPI by name: its `title`, its `version`, `where` its launcher is (None: not installed), and a `note` on
    what would install it."""
    return {name: _about(name, mpi_class.title) for name, mpi_class in IMPLEMENTATIONS.items()}


def _about(name: str, title: str) -> dict[str, Any]:
    try:
        module = module_of(name)
        return {"title": title, "version": module.version(), "where": module.launcher(), "note": ""}
    except BadInput as absent:
        return {"title": title, "version": None, "where": None, "note": str(absent)}
