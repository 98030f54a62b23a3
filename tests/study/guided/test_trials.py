"""Which trials the guided study wants, one step after the other, whatever the machine measures."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.sgan.study import world
from tests.workloads.sgan.study.world import World
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.study.guided.kind import more, runs_left, total
from workshop.study.guided.plan import plan, read_steps
from workshop.study.guided.step_results import key, spread_out, step_results
from workshop.workloads.sgan.study.facts import GUIDE

MOST = 100  # runs of the quick setting on two cores


def test_the_quick_setting_is_short_on_two_cores() -> None:
    quick = World(world.setting(mpis=("openmpi", "mpich", "intelmpi")))
    before = total(GUIDE, quick.sofar)
    trials = quick.complete()
    assert len(trials) <= MOST
    assert abs(before - len(trials)) <= 6, "what is told beforehand is near what comes"
    assert more(GUIDE, quick.sofar) == []
    assert total(GUIDE, quick.sofar) == len(trials)


def test_every_step_has_results_and_only_the_last_repeats_what_others_ran() -> None:
    quick = World(world.setting())
    quick.complete()
    found = step_results(GUIDE, quick.sofar)
    assert all(found.done(step) for step in GUIDE.keys)
    keys = [(key(trial.params, trial.placement), trial.repeat) for trial in quick.trials]
    before = [cell for cell, trial in zip(keys, quick.trials, strict=True) if trial.point["step"] != "i"]
    assert len(set(before)) == len(before), "no cell is run twice for two steps"
    assert [trial.number for trial in quick.trials] == list(range(1, len(quick.trials) + 1))
    # One rank with all cores is a cell of four steps, and has been run for all of them.
    alone = next(one for one in found.results("a") if one.point["cores"] == world.CORES)
    assert len(alone.rates) == 3
    assert {one.run for step in "bcd" for one in found.results(step) if set(one.runs) == set(alone.runs)}


def test_later_steps_stand_on_the_best_of_earlier_ones() -> None:
    quick = World(world.setting())
    quick.complete()
    found = step_results(GUIDE, quick.sofar)
    best = found.best("d")
    assert best is not None and (best.point["ranks"], best.point["threads"]) == (2, 1)
    assert {Placement.parse(one.placement).ranks for one in found.results("f")} == {2}
    assert [one.point["gave"] for one in found.results("i")] == ["", "a", "d", "e", "h"]
    rates = [one.median or 0 for one in found.results("i")]
    assert rates[1] > rates[0] and rates[-1] == max(rates) and all(len(one.rates) == 3 for one in found.results("i"))
    assert rates[2] < rates[1], "with the article's evaluation more ranks may even lose"


def test_a_setting_that_helps_and_an_mpi_that_is_faster_are_taken_along() -> None:
    def faster(params: Mapping[str, Any], where: Placement) -> float:
        return world.rate(params, where) * (1.3 if "HOROVOD_CYCLE_TIME" in where.environment else 1.0)

    quick = World(world.setting(mpis=("openmpi", "mpich", "intelmpi")), faster)
    quick.complete()
    gave = {one.point["gave"]: one for one in step_results(GUIDE, quick.sofar).results("i")}
    assert "HOROVOD_CYCLE_TIME" in gave["f"].placement["environment"]
    assert "g" not in gave, "Intel MPI is slower than Open MPI with that setting"

    quick = World(world.setting(mpis=("openmpi", "intelmpi")), lambda params, where: world.rate(params, where))
    quick.complete()
    gave = {one.point["gave"]: one for one in step_results(GUIDE, quick.sofar).results("i")}
    assert gave["g"].placement["mpi"] == "intelmpi" and gave["g"].params["exchange"] == "mpi"


def test_mpis_that_are_not_there_say_how_to_have_them_and_are_run_once_they_are() -> None:
    quick = World(world.setting(steps="g"))
    quick.complete()
    lacking = [trial for trial in quick.trials if trial.error]
    assert [trial.point["mpi"] for trial in lacking] == ["mpich", "intelmpi"]
    assert "workshop mpi install mpich" in (lacking[0].error or {})["message"]
    quick.setting = quick.setting.wanting("g", ("openmpi", "mpich"))
    assert [trial.point["mpi"] for trial in quick.complete() if not trial.error] == ["openmpi"] * 3 + ["mpich"] * 3


def test_steps_alone_and_more_of_them_later() -> None:
    some = World(world.setting(steps="cb"))
    assert some.setting.steps == "cb"
    some = World(world.setting(steps=read_steps(GUIDE, "c,b")))
    some.complete()
    assert {trial.point["step"] for trial in some.trials} == {"b", "c"}
    many = len(some.trials)
    some.setting = some.setting.wanting("f")
    assert some.setting.steps == "f"
    some.complete()
    assert {trial.point["step"] for trial in some.trials[many:]} == {"f"}
    ranks = {trial.placement["ranks"] for trial in some.trials[many:]}
    assert ranks == {2}, "without step d, as many ranks as cores"


@settings(max_examples=25, deadline=None)
@given(
    rates=st.dictionaries(st.integers(0, 400), st.floats(1, 1e5), max_size=60),
    failing=st.sets(st.integers(1, 60), max_size=30),
    cores=st.sampled_from([1, 2, 3, 4, 6]),
    steps=st.sets(st.sampled_from(GUIDE.keys), min_size=1),
    thorough=st.booleans(),
)
def test_it_ends_whatever_is_measured_and_whatever_fails(
    rates: dict[int, float], failing: set[int], cores: int, steps: set[str], thorough: bool
) -> None:
    chosen = "".join(sorted(steps))
    setting = world.setting(cores=cores, steps=chosen, thorough=thorough)

    def how(params: Mapping[str, Any], where: Placement) -> float:
        return rates.get(zlib.crc32(where.model_dump_json().encode()) % 400, 100.0)

    machine = World(setting, how, lambda trial: trial.number in failing)
    machine.complete(400)
    found = step_results(GUIDE, machine.sofar)
    assert all(found.done(step) for step in chosen)
    assert total(GUIDE, machine.sofar) == len(machine.trials)
    assert len(machine.trials) < 400


@pytest.mark.parametrize("cores", [1, 7, 13, 16, 31, 60, 64, 96, 128])
@pytest.mark.parametrize("thorough", [False, True])
def test_machines_of_any_size_get_work_that_ends(cores: int, thorough: bool) -> None:
    setting = world.setting(cores=cores, thorough=thorough)
    assert setting.params["batch"] <= 64 + 4 * cores, "a larger batch than the ranks need would be longer work"
    found = step_results(GUIDE, World(setting).sofar)
    assert spread_out(found, "d").ranks in setting.values["ranks"]
    for cell in found.cells("h"):
        assert cell.params["batch"] >= 1 and cell.params["iterations"] <= 8 * 600, "one rank alone reads it all"
    assert max(Placement.parse(cell.placement).ranks for step in "dfgh" for cell in found.cells(step)) <= 64
    if not thorough:
        assert total(GUIDE, World(setting).sofar) <= 130


def test_what_was_interrupted_in_the_middle_of_a_step_is_still_to_come() -> None:
    some = World(world.setting(steps="e"))
    some.trials = more(GUIDE, some.sofar)
    some.trials[0] = some._run(some.trials[0])
    assert runs_left(step_results(GUIDE, some.sofar), "e") == 2
    some.trials[1:] = map(some._run, some.trials[1:])
    assert runs_left(step_results(GUIDE, some.sofar), "e") == 0 and more(GUIDE, some.sofar) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch": 30}, "--set batch=32"),
        ({"inference": "predict"}, "inference can't be set"),
        ({"nonsense": 1}, "nonsense"),
        ({"size": 29}, "size"),
    ],
)
def test_what_can_t_be_set(given: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        plan(GUIDE, given, 2)
