"""How a cluster of JupyterLab's ipyparallel panel, or `ipp.Cluster()` in a notebook, starts ranks of our Open MPI."""

from __future__ import annotations

from typing import Any

from ipyparallel.cluster.launcher import MPIEngineSetLauncher

from workshop.mpi import openmpi
from workshop.notebook.jupyter import settings


class Engines(MPIEngineSetLauncher):
    """ipyparallel's launcher of engines, which first removes the files that killed mpiruns have left."""

    entrypoint_name = settings.LAUNCHER  # in the cluster's file, from which the panel finds it again

    def start(self, n: int) -> Any:
        self.mpi_cmd = [openmpi.launcher()]
        return super().start(n)
