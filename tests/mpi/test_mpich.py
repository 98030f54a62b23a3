"""MPICH's command line for a placement, held against the real mpiexec, and reading what it says; what MPICH and Intel
MPI have in common."""

from __future__ import annotations

import os
import signal

import pytest

from tests import mpis
from tests.mpi.ranks import CORES, kill, report
from tests.support import need
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import intelmpi, mapper, module_of, mpich
from workshop.mpi.implementations import implementation

HOSTS = [{"name": name, "slots": 2} for name in ("hostA", "hostB", "hostC")]
TWO_SOCKETS = {
    "units": [{"unit": n, "core": n // 2, "package": n // 8, "numa": n // 8, "l3": n // 8} for n in range(16)]
}


both = pytest.mark.parametrize("module", [mpich, intelmpi], ids=["mpich", "intelmpi"])


def name(module):
    return module.__name__.rpartition(".")[2]


@pytest.fixture
def installed(workshop_home):
    mpis.use(workshop_home, "mpich", "intelmpi")


@pytest.mark.real
@both
def test_two_ranks_get_cores_of_their_own_and_many_run_unbound(installed, module):
    need(CORES >= 2, "this machine has one core")
    found = report(module, Placement(mpi=name(module), ranks=2))
    first, second = (set(units) for units, _ in found["ranks"])
    assert implementation(name(module)).title.split()[0] in found["library"]
    assert first and second and not first & second
    found = report(module, Placement(mpi=name(module), ranks=CORES + 2))
    assert [units for units, _ in found["ranks"]] == [sorted(os.sched_getaffinity(0))] * (CORES + 2)


@pytest.mark.real
@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_rank_ends_all_and_no_rank_is_blamed(installed, victim):
    died, pids = kill(mpich, victim, signal.SIGKILL)
    assert died is not None
    assert (died.rank, died.signal) == (None, signal.SIGKILL)
    assert died.pid in pids, "MPICH names the process that it collects first"


@pytest.mark.real
def test_the_mapper_is_asked_beforehand(installed):
    mapper.check(Placement(mpi="mpich", ranks=2))
    with pytest.raises(BadInput) as error:
        mapper.check(Placement(mpi="mpich", ranks=2, cores_per_rank=CORES + 1, bind_to="core"))
    first, *words = str(error.value).splitlines()
    assert first == "MPICH refuses this placement, in its own words:"
    assert words == [f'mapping option "core:{CORES + 1}" larger than total system size']


@both
def test_without_a_prefix_it_says_how_to_get_one(workshop_home, module):
    mpi = name(module)
    sentence = f"{implementation(mpi).title} is not installed; `workshop mpi install {mpi}` does that"
    for call in (module.launcher, module.environment, lambda: mapper.check(Placement(mpi=mpi))):
        with pytest.raises(BadInput, match=sentence):
            call()
    assert module_of(mpi) is module


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({"ranks": 9}, "-bind-to none"),
        ({"ranks": 2, "cores_per_rank": 4, "map_by": "core"}, "-bind-to core:4"),
        ({"ranks": 2, "map_by": "package", "bind_to": "package"}, "-bind-to socket"),
        ({"ranks": 4, "map_by": "package"}, "-bind-to core -map-by socket"),
        ({"ranks": 2, "map_by": "package", "bind_to": "none"}, "-bind-to none"),
        ({"ranks": 4, "hosts": HOSTS, "map_by": "node"}, "-bind-to core -hosts hostA:2,hostB:2,hostC:2 -ppn 1"),
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
