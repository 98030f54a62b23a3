"""One module per MPI (`openmpi`, `mpich`, `intelmpi`), all with the same functions: see `of`.

`mapper` asks an MPI where ranks would go; `advice` proposes changes to what an MPI refuses. `command_lines` writes
commands and `words` reads what people type. `reports` reads what MPIs print. `prefix` keeps other MPIs apart;
`inventory` says which ones are here. `hydra` is what MPICH and Intel MPI share, `rules` what is known of an
MPI without asking it, and `horovod` whether Horovod is built.
"""

from __future__ import annotations

import importlib
from typing import Any

from workshop.core.errors import BadInput
from workshop.extension import MPI, Extension
from workshop.registry import mpis

REFUSES = "refuses this placement, in its own words:"  # behind the MPI's name, wherever one is quoted


def of(name: str) -> Any:
    """The module of an MPI. Raises BadInput for one that nobody has brought.

    It has `NAME`; `launcher`, `arguments`, `environment` and `alone` for the command line and its variables; `check`,
    which refuses a placement before anything starts; `refuses` and `refusal`, `death` and `left`, which read why ranks
    did not start, or have ended, in what the launcher prints.
    """
    if name not in mpis():
        raise BadInput(f"There is no MPI {name!r:.60}; there are {', '.join(mpis())}.")
    return importlib.import_module(mpis()[name].module)


EXTENSION = Extension(
    mpis=(
        MPI("openmpi", "Open MPI", "workshop.mpi.openmpi"),
        MPI("mpich", "MPICH", "workshop.mpi.mpich"),
        MPI("intelmpi", "Intel MPI", "workshop.mpi.intelmpi"),
    ),
)
