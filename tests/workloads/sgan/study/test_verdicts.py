"""What the steps say, of machines that differ; and their cards, document and table."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.web import seed
from tests.workloads.sgan.study import world
from tests.workloads.sgan.study.world import World
from workshop.core.documents import finite
from workshop.core.placement import Placement
from workshop.report import html
from workshop.store.store import Store
from workshop.study import kinds, runner
from workshop.study.cards import cards
from workshop.study.guided.cards import step_cards
from workshop.study.guided.kind import Answer, GuidedReport, answer
from workshop.study.guided.step_results import StepResults, facts, judge, step_results
from workshop.study.terminal import show_study
from workshop.workloads.sgan.study.facts import GUIDE


def measured(how: world.Rate = world.rate, **more: Any) -> StepResults:
    quick = World(world.setting(**more), how)
    quick.complete()
    return step_results(GUIDE, quick.sofar)


def said(found: StepResults, key: str, memory: dict[str, list[float]] | None = None) -> dict[str, str]:
    """The verdict of a step, where resident memory grew in that way."""
    found.events = lambda run: (memory or {}).get(found.runs[run].params["inference"], [])
    told = judge(GUIDE.step(key), facts(found, key))
    assert told is not None
    return told


def answered(found: StepResults, key: str) -> Answer:
    """To what learners predict."""
    told = answer(found, key, facts(found, key))
    assert told is not None
    return told


def with_variable(name: str, factor: Callable[[str], float]) -> world.Rate:
    """Rates that one variable of the ranks changes."""
    return lambda params, where: world.rate(params, where) * factor(where.rank_environment().get(name, ""))


def test_what_omp_num_threads_does_not_do_is_said_with_the_reason() -> None:
    told = said(measured(steps="b"), "b")
    assert told["verdict"] == "OMP_NUM_THREADS has no effect here."
    assert "Eigen" in told["why"] and "Run 1 had 2 threads of that pool, and no OpenMP thread worked" in told["why"]
    assert answered(measured(steps="b"), "b").value == pytest.approx(1.0)


def test_what_it_does_where_something_reads_it_is_said_as_well() -> None:
    found = measured(with_variable("OMP_NUM_THREADS", lambda threads: 2.0 if threads == "4" else 1.0), steps="b")
    told = said(found, "b")
    assert told["verdict"].startswith("OMP_NUM_THREADS=4 seems to be 2.00×") and "nothing in a rank" in told["verdict"]
    for run in found.runs.values():
        run.metrics["threads"][0]["openmp"] = {"count": 4, "busy": 4, "seconds": 3.0}
    told = said(found, "b")
    assert told["verdict"] == "OMP_NUM_THREADS=4 is 2.00× as fast as OMP_NUM_THREADS=2."
    assert "OpenMP threads worked in run 1" in told["why"]
    for run in found.runs.values():
        del run.metrics["threads"]
    assert "do not tell" in said(found, "b")["why"]


def test_the_profile_counts_threads_against_cores() -> None:
    found = measured(steps="a")
    told = said(found, "a")
    assert "2 threads to compute with on one core" in told["verdict"]
    assert "6 threads live in it (3 ZeroMQ, 2 TensorFlow intra-op (Eigen) and 1 main); 3 of them worked" in told["why"]
    assert answered(found, "a").value == 6


def growing(slope: float) -> list[float]:
    """Resident memory that grows by so many bytes with each evaluation."""
    return [6e8 + slope * n + 1e4 * (n % 3) for n in range(30)]


def test_memory_that_leaks_and_memory_that_does_not() -> None:
    found = measured(steps="e")
    told = said(found, "e", {"predict": growing(0), "compiled": growing(0)})
    assert told["verdict"] == "Nothing like the article's leak shows today." and "33009" in told["why"]
    assert "went on" not in told["why"] and "An evaluation takes: predict 600 ms" in told["why"]
    climbs = said(found, "e", {"predict": growing(4e4), "compiled": [6e8] * 30})
    assert climbs["verdict"].endswith("today, but with predict memory still climbs a little.")
    assert "If that went on, 10,000 evaluations would add 4" in climbs["why"] and "Training" not in climbs["why"]
    control = said(found, "e", {"predict": growing(4e4), "compiled": growing(2e3)})
    assert "Training itself takes no more than compiled shows." in control["why"]
    alike = said(found, "e", {"predict": growing(4e4), "compiled": growing(4e4)})
    assert "All of them show it alike" in alike["why"]
    assert "thorough" in climbs["next"] and "thorough" not in told["next"]
    told = said(found, "e", {"predict": growing(2e6), "compiled": [6e8] * 30})
    assert told["verdict"] == "predict keeps memory: 200.0 MB over 100 evaluations."
    assert told["next"] == "Use compiled instead, which is shown to keep memory constant."
    found.events = lambda run: []
    assert judge(GUIDE.step("e"), facts(found, "e")) is None


def test_settings_that_can_t_matter_and_those_that_do() -> None:
    told = said(measured(), "f")
    assert told["verdict"] == "None of the other sets is better than what there was."
    assert "polling (0.80×)" in told["why"] and "KMP_* is for OpenMP libraries" in told["why"]
    assert "exchange gradients without Horovod" in told["why"]
    told = said(measured(with_variable("HOROVOD_CYCLE_TIME", lambda cycle: 1.3 if cycle else 1.0)), "f")
    assert told["verdict"] == "Short cycle is 1.30× what there was."
    assert "the machine, not the setting" in told["why"], "no rank here reads it"
    found = measured()
    assert "no fusion" in answered(found, "f").ties


def test_mpis() -> None:
    assert said(measured(steps="g"), "g")["verdict"].startswith("Only Open MPI could be measured")
    told = said(measured(mpis=("openmpi", "mpich", "intelmpi"), steps="g"), "g")
    assert told["verdict"] == "Intel MPI is the fastest: 1.57× MPICH."

    def two(params: Any, where: Placement) -> float:
        return world.rate(params, where.model_copy(update={"mpi": "mpich" if where.mpi == "mpich" else "openmpi"}))

    told = said(measured(two, mpis=("openmpi", "mpich", "intelmpi"), steps="g"), "g")
    assert told["verdict"] == "Open MPI and Intel MPI are the fastest: 1.43× MPICH."

    def alike(params: Any, where: Placement) -> float:
        return world.rate(params, where.model_copy(update={"mpi": "openmpi"}))

    told = said(measured(alike, mpis=("openmpi", "intelmpi"), steps="g"), "g")
    assert told["verdict"] == "Open MPI and Intel MPI are as fast as each other, within 10 %."


def wavering(factor: float) -> world.Rate:
    """Rates of which every second repeat of a setting is slower by this factor, whatever the setting is."""
    repeats: dict[str, Iterator[int]] = defaultdict(itertools.count)
    return lambda params, where: 100.0 * (factor if next(repeats[f"{params} {where}"]) % 2 else 1.0)


TELLS = {"b": "has no effect", "c": "less than 10 %", "f": "None of the other sets", "g": "as fast as each other"}


@pytest.mark.parametrize("key", TELLS)
@pytest.mark.parametrize(("factor", "shown"), [(1.0, True), (0.97, True), (0.6, False)])
def test_what_few_repeats_do_not_show_is_not_told_as_no_effect(key: str, factor: float, shown: bool) -> None:
    told = said(measured(wavering(factor), mpis=("openmpi", "intelmpi")), key)
    assert (TELLS[key] in told["verdict"]) == shown
    assert ("too few repeats" in told["verdict"]) != shown


def noisy(added: float, uncertainty: float) -> list[float]:
    """Memory that grows by `added` MB over a hundred evaluations, which chance makes uncertain."""
    return [6e8 + added * 1e4 * n + uncertainty * 1e6 * math.sin(12.9898 * n) / 8 for n in range(30)]


@pytest.mark.parametrize(
    ("predict", "on_batch", "verdict", "following"),
    [
        ((4, 60), (0, 1), "Can't tell whether predict keeps memory", "--thorough"),
        ((4, 60), (9, 0.1), "predict_on_batch keeps memory", "No way here is shown to keep it constant"),
        ((200, 5), (0, 20), "predict keeps memory", "for predict_on_batch, so few evaluations can't tell"),
    ],
)
def test_memory_is_called_constant_only_where_that_is_shown(
    predict: tuple[float, float], on_batch: tuple[float, float], verdict: str, following: str
) -> None:
    told = said(measured(steps="e"), "e", {"predict": noisy(*predict), "predict_on_batch": noisy(*on_batch)})
    assert told["verdict"].startswith(verdict) and following in told["next"]
    assert "Use predict " not in told["next"]


def test_evaluation_before_and_after() -> None:
    found = measured(steps="h")
    told = said(found, "h")
    assert told["verdict"] == "Evaluation takes 26 % of the time instead of 59 %."
    assert told["why"].startswith("That makes 2 ranks 1.79× as fast.")
    assert "2 ranks are 1.24× as fast as one before and 2.22× after" in told["why"]
    assert answered(found, "h").value == pytest.approx(58.8, abs=0.1)


def test_the_waterfall_and_the_command_of_its_end() -> None:
    told = said(measured(), "i")
    assert told["verdict"] == "All together: 2.24× the naive start."
    assert told["next"].endswith("--batch 32 --inference predict_on_batch --ranks 2 --threads 1")
    told = said(measured(mpis=("openmpi", "intelmpi")), "i")
    assert "--exchange mpi" in told["next"] and "--mpi intelmpi" in told["next"], "what was measured, not half of it"


def test_the_report_however_far_it_is(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    session = seed.session(store)
    empty = kinds.report(store, world.study(store, session, steps=""))
    assert isinstance(empty, GuidedReport)
    assert empty.verdict["verdict"] == "Not enough measured yet."
    part = kinds.report(store, world.study(store, session, ended=15))
    assert isinstance(part, GuidedReport)
    assert [one.state for one in part.steps][:3] == ["done", "done", "partly"]
    assert part.verdict["verdict"] == "3 steps of 9 measured." and "Next is step d" in part.verdict["next"]
    full = kinds.report(store, world.study(store, session))
    assert isinstance(full, GuidedReport)
    assert [one.state for one in full.steps] == ["done"] * 9
    told = full.step("e").verdict
    assert told is not None and told["verdict"].startswith("predict keeps memory")

    document = json.loads(json.dumps(finite(full.as_json()), allow_nan=False))
    assert [one["step"] for one in document["steps"]] == list(GUIDE.keys)
    assert all(one["verdict"]["verdict"] and one["answer"] and one["cells"] for one in document["steps"])
    assert document["source"] == GUIDE.source

    for report in (empty, part, full):
        assert html.live(cards(report))
        for key in GUIDE.keys:
            (card, _) = step_cards(report, key)
            assert GUIDE.source in str(card.parts[-1]), "the article's figures stand beside one's own"
        show_study(report)
        assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())
    names = [card.name for card in cards(full)]
    assert names[:3] == ["verdict", "step-a", "cells-a"] and names[-1] == "runs" and len(set(names)) == len(names)


def test_a_step_that_fails_entirely_says_so(store: Store) -> None:
    session = seed.session(store)
    made = runner.begin(store, world.setting(steps="b"))
    store.take_study(made.id, "seed")
    store.add_trials(made.id, "seed", world.wanted(store, made.id))
    for trial in store.trials(made.id):
        run = store.submit(session.id, "sgan", trial.params, trial.placement, trial=(made.id, trial.number))
        store.take_next(session.id)
        store.finish(run.id, "failed", error={"type": "MemoryError", "message": "no <b>room"})
    report = kinds.report(store, store.study(made.id))
    assert isinstance(report, GuidedReport)
    told = report.step("b").verdict
    assert report.step("b").state == "done" and told is not None
    assert told["verdict"] == "Too few of its runs worked to compare anything."
    assert "OMP_NUM_THREADS=1" in told["why"] and "MemoryError: no <b>room" in told["why"]
    assert told["next"].endswith(f"workshop study resume {made.id} --failed")
    assert "Next is step a" in report.verdict["next"]
