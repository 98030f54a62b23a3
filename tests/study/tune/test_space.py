"""The space of the tuner: nothing impossible, nothing twice, and every point is a placement."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.tune import cases
from workshop.core.placement import POLLING, Placement
from workshop.registry import workload
from workshop.study.tune import study as spots
from workshop.study.tune.study import key, label, placed
from workshop.study.tune.study import settings as settings_of

YIELD, CYCLE = f"env.{POLLING}", "env.HOROVOD_CYCLE_TIME"


@st.composite
def spaces(draw: st.DrawFn) -> Any:
    """Studies on machines of up to eight cores with any of the knobs."""
    cores = draw(st.integers(1, 8))
    found = [
        spots.Spot(mpi, ranks, "auto", bind, 1, f"{ranks}*{bind}")
        for mpi in draw(st.sets(st.sampled_from(("openmpi", "mpich")))) | {"openmpi"}
        for ranks in spots.numbers_of_ranks(cores)
        for bind in ("core", "none")
        if bind == "none" or ranks <= cores
    ]
    exchanges = draw(st.lists(st.sampled_from(cases.EXCHANGES[1:]), min_size=1, unique=True))
    threads = draw(st.lists(st.integers(1, 8), min_size=1, unique=True))
    return cases.asked(
        spots=found,
        threads=threads,
        cores=cores,
        knobs={"exchange": ["horovod", *exchanges], **cases.VARIABLES, YIELD: spots.YIELDS},
    )


@settings(deadline=None, max_examples=50)
@given(spaces())
def test_points_are_possible_and_differ_in_what_they_do(asked: Any) -> None:
    points = asked.points()
    assert len({key(point) for point in points}) == len(points)
    effects = set()
    for point in points:
        where = placed(point, {})
        assert where.ranks == point["ranks"] and where.threads == point["threads"]
        if point["exchange"] == "horovod":
            assert point["mpi"] == "openmpi", "Horovod is linked to Open MPI"
        else:
            assert point[CYCLE] is None and "HOROVOD_CYCLE_TIME" not in where.environment
        if point["mpi"] != "openmpi" or point["ranks"] == 1:
            assert point[YIELD] == "1" and POLLING not in where.environment
        if point["ranks"] == 1:
            assert point["mpi"] == asked.spots[0].mpi or point["exchange"] == "horovod", "it talks to nobody"
        effects.add((where.model_dump_json(), "alone" if where.ranks == 1 and point["exchange"] != "horovod" else
                     point["exchange"]))  # fmt: skip
    assert len(effects) == len(points)
    assert len({label(point) for point in points}) == len(points), "people can tell them apart, too"
    assert {key(point) for point in asked.begin} <= {key(point) for point in points}
    for point in (point for point in points if point not in asked.begin):
        assert asked.point(settings_of(point)) == point, "and back from Optuna's parameters"


def test_a_cell_shares_the_work_out() -> None:
    asked = cases.asked()
    two = asked.begin[0]
    assert asked.cell(asked.naive, {}).params["batch"] == 128
    cell = asked.cell({**two, YIELD: "0", CYCLE: "5"}, {"steps": 40})
    assert cell.params == {"batch": 64, "steps": 40, "exchange": "horovod"}
    where = Placement.parse(cell.placement)
    assert (where.ranks, where.threads_per_rank, where.bind_to) == (2, 1, "core")
    assert where.environment == {POLLING: "0", "HOROVOD_CYCLE_TIME": "5"}
    assert cell.label == "2 ranks × 1 thread, bound to core, horovod, polling, HOROVOD_CYCLE_TIME=5"


def test_daal4py_only_goes_with_the_mpis_that_it_is_built_for() -> None:
    found = [cases.SPOTS[2], spots.Spot("mpich", 2, "auto", "core", 1, "0|1")]
    asked = cases.asked(spots=found, workload="kmeans", knobs={"backend": ["numba", "daal4py"], YIELD: ["1"]}, begin=[])
    pairs = {(point["mpi"], point["backend"]) for point in asked.points()}
    assert pairs == {("openmpi", "numba"), ("mpich", "numba"), ("mpich", "daal4py")}


@pytest.mark.parametrize(
    ("cores", "slots", "numbers"),
    [(1, None, [1, 2]), (2, None, [1, 2, 4]), (6, None, [1, 2, 4, 6, 8, 12]), (8, 4, [1, 2, 4]), (4, 3, [1, 2, 3])],
)
def test_numbers_of_ranks(cores: int, slots: int | None, numbers: list[int]) -> None:
    assert spots.numbers_of_ranks(cores, slots) == numbers


def test_what_the_tuner_sets_of_a_workload_is_valid() -> None:
    for name in ("mnist", "kmeans"):
        chosen = workload(name)
        assert chosen.tuning is not None and chosen.scaling is not None
        short = {**chosen.scaling.strong, **chosen.tuning.load, **chosen.tuning.short}
        params = chosen.check(short)
        assert chosen.tuning.length in chosen.tuning.short and hasattr(params, chosen.tuning.length)
        knobs = [name for name in chosen.tuning.knobs if not name.startswith("env.")]
        assert knobs and all(name in type(params).model_fields for name in knobs)
