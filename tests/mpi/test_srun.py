"""srun's options for a placement, and what it prints; tests of sessions start ranks with it."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import srun

KILLED = "srun: error: wsn2: task 1: Killed\nsrun: error: wsn1: task 0: Terminated\n"


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({"ranks": 2}, "--cpus-per-task=1 --cpu-bind=cores"),
        ({"ranks": 2, "cores_per_rank": 2, "bind_to": "package"}, "--cpus-per-task=2 --cpu-bind=sockets"),
        ({"ranks": 4, "map_by": "node", "per_resource": 2}, "--cpus-per-task=1 --cpu-bind=cores --ntasks-per-node=2"),
        ({"ranks": 2, "map_by": "node", "bind_to": "none"}, "--cpus-per-task=1 --cpu-bind=none --distribution=cyclic"),
        ({"ranks": 9}, "--cpus-per-task=1 --cpu-bind=none --overcommit"),
    ],
)
def test_options_of_a_placement(values: dict, options: str) -> None:
    assert " ".join(srun.arguments(Placement(**values), 4)) == options


@pytest.mark.parametrize(
    ("values", "says"),
    [({"bind_to": "l3cache"}, "binding to l3cache; bind_to should be"), ({"map_by": "numa"}, "dealt out over numa")],
)
def test_what_it_has_no_words_for(values: dict, says: str) -> None:
    with pytest.raises(BadInput, match=f"srun has no words for .*{says}"):
        srun.arguments(Placement(**values), 4)


def test_what_it_prints() -> None:
    died = srun.death(KILLED)
    assert died is not None and (died.rank, died.host, died.signal) == (1, "wsn2", 9)
    assert srun.death("srun: error: wsn3: task 2: Exited with exit code 3\n") is None
    refused = "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types\n" * 2
    assert srun.refuses(refused) and srun.refusal(refused).startswith("Invalid MPI type 'pmix'")
    assert srun.refusal(refused).count("Invalid") == 1
    assert not srun.refuses("a rank printed that\n") and srun.refusal("a rank printed that\n") == "a rank printed that"
