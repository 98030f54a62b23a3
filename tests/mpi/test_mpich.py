"""MPICH's command line for a placement, held against the real mpiexec, and reading what it says."""

from __future__ import annotations

import os
import signal

import pytest

from tests import mpis
from tests.mpi.ranks import CORES, kill, report
from tests.support import need
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import module_of, mpich

HOSTS = [{"name": name, "slots": 2} for name in ("hostA", "hostB", "hostC")]
TWO_SOCKETS = {
    "units": [{"unit": n, "core": n // 2, "package": n // 8, "numa": n // 8, "l3": n // 8} for n in range(16)]
}


@pytest.fixture
def installed(workshop_home):
    mpis.use(workshop_home, "mpich")


@pytest.mark.real
def test_two_ranks_get_cores_of_their_own(installed):
    need(CORES >= 2, "this machine has one core")
    found = report(mpich, Placement(mpi="mpich", ranks=2))
    first, second = (set(units) for units, _ in found["ranks"])
    assert "MPICH" in found["library"]
    assert first and second and not first & second


@pytest.mark.real
def test_more_ranks_than_cores_run_unbound(installed):
    found = report(mpich, Placement(mpi="mpich", ranks=CORES + 2))
    assert [units for units, _ in found["ranks"]] == [sorted(os.sched_getaffinity(0))] * (CORES + 2)


@pytest.mark.real
def test_a_rank_can_own_several_cores(installed):
    need(CORES >= 2, "this machine has one core")
    (units, threads), *none = report(mpich, Placement(mpi="mpich", ranks=1, cores_per_rank=2))["ranks"]
    assert len(units) >= 2 and threads == "2" and not none


@pytest.mark.real
@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_rank_ends_all_and_no_rank_is_blamed(installed, victim):
    died, pids = kill(mpich, victim, signal.SIGKILL)
    assert died is not None
    assert (died.rank, died.signal) == (None, signal.SIGKILL)
    assert died.pid in pids, "MPICH names the process that it collects first"


@pytest.mark.real
def test_the_mapper_is_asked_beforehand(installed):
    mpich.check(Placement(mpi="mpich", ranks=2), CORES)
    with pytest.raises(BadInput) as error:
        mpich.check(Placement(mpi="mpich", ranks=2, cores_per_rank=CORES + 1, bind_to="core"), CORES)
    first, *words = str(error.value).splitlines()
    assert first == "MPICH refuses this placement, in its own words:"
    assert words == [f'mapping option "core:{CORES + 1}" larger than total system size']


def test_without_a_prefix_it_says_how_to_get_one(workshop_home):
    for call in (mpich.launcher, mpich.environment, lambda: mpich.check(Placement(mpi="mpich"), 2)):
        with pytest.raises(BadInput, match="MPICH is not installed; `workshop mpi install mpich` does that"):
            call()
    assert module_of("mpich") is mpich


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({"ranks": 2}, "-bind-to core"),
        ({"ranks": 9}, "-bind-to none"),
        ({"ranks": 2, "cores_per_rank": 4}, "-bind-to core:4"),
        ({"ranks": 2, "cores_per_rank": 4, "map_by": "core"}, "-bind-to core:4"),
        ({"ranks": 9, "bind_to": "core"}, "-bind-to core"),
        ({"ranks": 2, "map_by": "hwthread"}, "-bind-to hwthread"),
        ({"ranks": 2, "map_by": "package", "bind_to": "package"}, "-bind-to socket"),
        ({"ranks": 4, "map_by": "package"}, "-bind-to core -map-by socket"),
        ({"ranks": 2, "map_by": "numa", "bind_to": "l3cache"}, "-bind-to l3cache -map-by numa"),
        ({"ranks": 2, "map_by": "package", "bind_to": "none"}, "-bind-to none"),
        ({"ranks": 4, "hosts": HOSTS, "map_by": "node"}, "-bind-to core -hosts hostA:2,hostB:2,hostC:2 -ppn 1"),
        (
            {"ranks": 6, "hosts": HOSTS, "map_by": "node", "per_resource": 2},
            "-bind-to core -hosts hostA:2,hostB:2,hostC:2 -ppn 2",
        ),
        (
            {"ranks": 6, "hosts": HOSTS, "map_by": "package", "per_resource": 1, "cores_per_rank": 2},
            "-bind-to core:2 -map-by socket -hosts hostA:2,hostB:2,hostC:2",
        ),
    ],
)
def test_a_placement_in_its_words(values, options):
    assert " ".join(mpich.arguments(Placement(mpi="mpich", **values), 8, TWO_SOCKETS)) == options


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"map_by": "package", "per_resource": 2}, "no words for 2 ranks per package"),
        (
            {"ranks": 3, "map_by": "package", "per_resource": 1},
            "some would share one, since it has 2",
        ),
        (
            {"ranks": 5, "map_by": "node", "hosts": ({"name": "hostA", "slots": 1}, {"name": "hostB", "slots": 4})},
            "would deal 3 ranks to hostA, which has 1 slot",
        ),
        ({"bind_to": "numa", "cores_per_rank": 2}, "can't bind a rank to 2 cores and to numa at once"),
    ],
)
def test_what_it_has_no_words_for(values, words):
    with pytest.raises(BadInput) as error:
        mpich.arguments(Placement(mpi="mpich", **values), 8, TWO_SOCKETS)
    assert words in str(error.value) and str(error.value).startswith("MPICH ")
    assert "\n" not in str(error.value)


def test_a_quiet_end_is_not_a_death():
    assert mpich.death("all is well") is None
    assert mpich.refusal("") == ""
    assert mpich.refusal("something else\n") == "something else"
    assert not mpich.refuses("something else\n"), "a rank has printed that"
    asked = "=   PID 17 RUNNING AT laptop\n=   EXIT CODE: 3\n"
    assert mpich.death(asked) is None
