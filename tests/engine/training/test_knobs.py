"""What the tuner may try with workloads that exchange gradients."""

from __future__ import annotations

from workshop.engine.fields import CYCLE, usable


def test_values_without_effect_are_the_same() -> None:
    assert usable({"exchange": "horovod", CYCLE: "5"}, "openmpi", 2) == {"exchange": "horovod", CYCLE: "5"}
    assert usable({"exchange": "horovod", CYCLE: "5"}, "mpich", 2) is None, "it is linked to Open MPI"
    assert usable({"exchange": "mpi-per-tensor", CYCLE: "5"}, "mpich", 2) == {"exchange": "mpi-per-tensor", CYCLE: None}
    assert usable({"exchange": "parameter-server"}, "openmpi", 1) == {"exchange": "mpi"}, "it talks to nobody"
