"""Planning: what the machine offers, what is left out with its reason, where to begin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.study.tune import cases
from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.registry import workload
from workshop.study.tune.plan import plan, read_budget
from workshop.study.tune.study import TuneStudy, label, placed

TWO = machines.read("1x2")


def planned(name: str = "mnist", given: dict[str, Any] | None = None, machine: Any = TWO, **more: Any) -> TuneStudy:
    return plan(workload(name), given or {}, machine, budget=300.0, **more)


@pytest.mark.real
def test_two_cores() -> None:
    """The machine's own mapper says what is possible; what comes to the same is there once."""
    asked = planned()
    assert [(spot.ranks, spot.bind_to) for spot in asked.spots] == [
        (1, "core"),
        (1, "none"),
        (2, "core"),
        (2, "none"),
        (4, "none"),
    ]
    assert [label(point) for point in asked.begin] == [
        "2 ranks × 1 thread, bound to core, horovod",
        "1 rank × 2 threads, bound to core, horovod",
        "2 ranks × 1 thread, bound to core, mpi",
        "2 ranks × 1 thread, bound to core, mpi-per-tensor",
        "2 ranks × 1 thread, bound to core, parameter-server",
    ]
    naive = placed(asked.naive, {})
    assert openmpi.arguments(naive, 2)[:4] == ["--map-by", "core", "--bind-to", "core"], (
        "as mpirun -np 1 does by itself"
    )
    assert (naive.ranks, naive.threads_per_rank) == (1, 2)
    assert asked.params["batch"] == 128, "what two ranks have together where nobody tunes anything"
    assert TuneStudy.read(cases.study(asked)).description() == asked.description()


@pytest.mark.real
def test_larger_machines_have_more_places() -> None:
    asked = planned(machine=machines.read("2x4x2"))
    ways = {(spot.map_by, spot.bind_to) for spot in asked.spots if spot.ranks == 4}
    assert ("package", "core") in ways and ("auto", "core") in ways and ("auto", "none") in ways
    assert len({(spot.ranks, spot.where) for spot in asked.spots}) == len(asked.spots), "each place once"
    default = placed(asked.begin[0], {})
    assert (default.ranks, default.cores_per_rank, default.threads_per_rank) == (4, 2, 2)
    assert asked.naive["threads"] == 8


@pytest.mark.real
def test_what_can_not_be_had_is_not_tried() -> None:
    asked = planned(missing={"horovod": "it is not built here"})
    assert "horovod" not in asked.knobs["exchange"]
    assert {point["env.HOROVOD_CYCLE_TIME"] for point in asked.points()} == {None}, "no cycle without Horovod"
    asked = planned(given={"batch": 130})
    assert {spot.ranks for spot in asked.spots} == {1, 2}

    def works(params: Any, ranks: int) -> None:
        if ranks > 1:
            raise BadInput("Too few images for so many ranks.")

    assert {spot.ranks for spot in planned(works=works).spots} == {1}

    def takes(placement: Placement) -> None:
        if placement.bind_to == "none":
            raise BadInput("Not here.")

    assert {spot.bind_to for spot in planned(takes=takes).spots} == {"core"}


@pytest.mark.real
def test_what_somebody_sets_stays_as_it_is() -> None:
    asked = planned(given={"exchange": "mpi", "steps": "40"})
    assert asked.knobs["exchange"] == ["mpi"] and asked.fixed and asked.params["steps"] == 40
    assert {point["exchange"] for point in asked.points()} == {"mpi"}
    assert len(asked.begin) == 2, "no other exchange"
    assert "steps" in asked.load


@pytest.mark.real
def test_a_session_on_hosts_has_its_slots() -> None:
    hosts = [{"name": "a", "slots": 2}, {"name": "b", "slots": 1}]
    asked = planned(given={"batch": 12}, placement={"hosts": hosts})
    assert {spot.ranks for spot in asked.spots} <= {1, 2, 3} and asked.cores == 4
    assert [host.name for host in placed(asked.begin[0], asked.placement).hosts] == ["a", "b"]
    assert asked.naive["threads"] == 2 and max(asked.threads) == 2, "a rank has the cores of its own host"
    assert {spot.map_by for spot in asked.spots} == {"auto", "node"}, "ranks are dealt out over hosts, too"


def no_ranks(params: Any, ranks: int) -> None:
    raise BadInput("It is too little.")


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "given", "more", "sentence"),
    [
        ("allreduce", {}, {}, "The tuner doesn't know what to try with allreduce"),
        ("mnist", {"batch": 64}, {"works": no_ranks}, "No number of ranks can work on this: It is too little"),
        ("kmeans", {}, {"missing": {"numba": "x", "numpy": "x", "daal4py": "x"}}, "No backend can be had"),
        ("kmeans", {"backend": "daal4py"}, {}, "No installed MPI supports backend daal4py"),
    ],
)
def test_bad_input(name: str, given: dict[str, Any], more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        planned(name, given, **more)


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300), ("90s", 90), ("1h", 3600), ("45", 45), (" 1.5 M ", 90)])
def test_budgets(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "nan", "9" * 400 + "h", "25h"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(BadInput, match="--budget"):
        read_budget(text)
