"""Intel MPI's command line for a placement, held against the real mpiexec, and reading what it says."""

from __future__ import annotations

import os
import signal

import pytest

from tests import mpis
from tests.mpi.ranks import CORES, kill, report
from tests.mpi.test_mpich import HOSTS, TWO_SOCKETS
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import intelmpi


@pytest.fixture
def installed(workshop_home):
    mpis.use(workshop_home, "intelmpi")


@pytest.mark.real
def test_what_a_placement_sets_itself_counts(installed):
    unbound = Placement(mpi="intelmpi", ranks=2, environment={"I_MPI_PIN": "0"})
    found = report(intelmpi, unbound)
    assert [units for units, _ in found["ranks"]] == [sorted(os.sched_getaffinity(0))] * 2
    assert intelmpi.arguments(unbound, CORES) == []


@pytest.mark.real
@pytest.mark.parametrize(("victim", "number"), [(0, signal.SIGKILL), (2, signal.SIGKILL), (1, signal.SIGSEGV)])
def test_the_rank_that_was_killed_is_told_from_those_that_were_ended_for_it(installed, victim, number):
    died, pids = kill(intelmpi, victim, number)
    assert died is not None
    assert (died.rank, died.pid, died.signal) == (victim, pids[victim], number)


@pytest.mark.parametrize(
    ("values", "domain", "order"),
    [
        ({"ranks": 2, "cores_per_rank": 3}, "6", "compact"),
        ({"ranks": 2, "map_by": "package"}, "core", "scatter"),
        ({"ranks": 2, "map_by": "package", "bind_to": "package"}, "socket", "compact"),
        ({"ranks": 2, "map_by": "numa", "bind_to": "numa"}, "numa", "compact"),
    ],
)
def test_a_placement_in_its_words(values, domain, order):
    expected = f"-genv I_MPI_PIN_DOMAIN {domain} -genv I_MPI_PIN_ORDER {order}"
    assert " ".join(intelmpi.arguments(Placement(mpi="intelmpi", **values), 8, TWO_SOCKETS)) == expected


def test_hosts_get_the_same_number_of_ranks():
    def words(**values):
        unbound = Placement(mpi="intelmpi", bind_to="none", **values)
        return " ".join(intelmpi.arguments(unbound, 8, TWO_SOCKETS))

    pins = "-genv I_MPI_PIN 0 -hosts hostA,hostB,hostC"
    assert words(ranks=6, hosts=HOSTS) == f"{pins} -ppn 2"
    assert words(ranks=3, hosts=HOSTS, map_by="node") == f"{pins} -ppn 1"
    with pytest.raises(BadInput, match="same number of ranks on every host, these are hostA:1, hostB:2"):
        words(ranks=2, hosts=[{"name": "hostA", "slots": 1}, HOSTS[1]])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"map_by": "numa"}, "dealt out over numa and bound to core; map_by should be core, package or auto"),
        (
            {"map_by": "core", "bind_to": "package"},
            "over core and bound to package; map_by should be package",
        ),
    ],
)
def test_what_it_has_no_words_for(values, words):
    with pytest.raises(BadInput) as error:
        intelmpi.arguments(Placement(mpi="intelmpi", **values), 8, TWO_SOCKETS)
    assert words in str(error.value) and str(error.value).startswith("Intel MPI ")
    assert "\n" not in str(error.value)
