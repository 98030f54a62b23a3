"""The guided study: valid cells, the stages of its last step, and a verdict and an answer for every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.workloads.sgan.study import world
from workshop.core.placement import Placement
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.guided.kind import answer, ask, more
from workshop.study.guided.plan import plan
from workshop.study.guided.step_results import StepResults, facts, judge, name, step_results
from workshop.study.kinds import Sofar
from workshop.workloads.processor import WORKLOAD
from workshop.workloads.processor.report import CITED, PANELS, spent, times
from workshop.workloads.processor.study.facts import GUIDE

KERNELS = {"convolution": {"seconds": 0.05, "calls": 158.0, "implementations": ["jit:avx512_core"]}}


def rate(params: Mapping[str, Any]) -> float:
    """Images/s of a machine on which oneDNN and cores help, NCHW and float16 hurt, and the rest does nothing."""
    speed = 10.0 * (4.5 if params["onednn"] else 1.0) * (1.8 if params["intra"] > 1 else 1.0)
    return speed * {"nchw": 0.5}.get(params["layout"], 1.0) * {"float16": 0.2}.get(params["precision"], 1.0)


def complete(cores: int = 2, flat: bool = False, failing: str = "", **options: Any) -> tuple[StepResults, list[Trial]]:
    """All trials of the study, on ranks whose rate is `rate`, or the same everywhere."""
    setting = plan(GUIDE, options.pop("params", {}), cores, **options)
    study = StudyRecord(1, GUIDE.kind, GUIDE.workload, setting.description(), "running", "", 0.0, None, 0, 0, 0)
    trials: list[Trial] = []
    runs: dict[int, RunRecord] = {}
    while further := more(GUIDE, Sofar(study, trials, runs)):
        assert len(trials) < 200, "the study ends"
        for trial in further:
            WORKLOAD.check(trial.params)
            assert Placement.parse(trial.placement).ranks == 1
            speed = (20.0 if flat else rate(trial.params)) * (1.0, 1.01, 0.99)[(trial.repeat - 1) % 3]
            metrics = {"images_per_second": speed, "step_seconds": 8 / speed, "kernels": KERNELS}
            number = len(runs) + 1
            failed = bool(failing) and failing in trial.params.values()
            error = {"type": "BadInput", "message": "It has no kernels."} if failed else None
            runs[number] = world.record(
                number, trial, "failed" if failed else "completed", {} if failed else metrics, error
            )
            trials.append(replace(trial, run_id=number))
    return step_results(GUIDE, Sofar(study, trials, runs)), trials


@pytest.mark.parametrize("cores", [1, 2])
def test_every_step_ends_with_a_verdict_where_it_has_two_settings(cores: int) -> None:
    results, trials = complete(cores)
    assert len(trials) <= 45, "some minutes"
    for step in GUIDE.steps:
        assert results.done(step.key)
        verdict = judge(step, facts(results, step.key))
        if cores == 1 and step.key in "bc":
            assert verdict is not None and verdict["why"] == "The machine has one core."
        else:
            assert answer(results, step.key, facts(results, step.key)) is not None
        assert ask(results, step.key).question == step.question
        assert verdict is not None and set(verdict) == {"verdict", "why", "next"}
        assert "{" not in "".join(verdict.values())


def test_the_last_step_adds_what_helped() -> None:
    results, _ = complete()
    stages = [name(cell) for cell in results.results("g")]
    assert stages == ["start", "+ TensorFlow with oneDNN", "+ an intra-op pool of 2"]
    verdict = judge(GUIDE.step("g"), facts(results, "g"))
    assert verdict is not None and verdict["verdict"] == "All together: 8.10× as fast as the start. Published: 4.61×."
    measured = answer(results, "g", facts(results, "g"))
    assert measured is not None and measured.value == pytest.approx(8.1)


def test_verdicts_name_the_better_setting() -> None:
    results, _ = complete()
    verdicts = {step.key: judge(step, facts(results, step.key)) for step in GUIDE.steps}
    texts = {key: verdict["verdict"] for key, verdict in verdicts.items() if verdict is not None}
    assert texts["a"] == "The fastest is TensorFlow with oneDNN: 4.50× as fast as TensorFlow alone."
    assert texts["d"] == "The fastest is NHWC: 2.00× as fast as NCHW."
    assert all(texts[key].endswith("are as fast as each other, within 10 %.") for key in "cf")


def test_where_nothing_helps_the_end_is_the_start() -> None:
    results, _ = complete(flat=True)
    assert [name(cell) for cell in results.results("g")] == ["start"]
    verdict = judge(GUIDE.step("g"), facts(results, "g"))
    assert verdict is not None and verdict["verdict"] == "There is nothing to add to the start."
    assert answer(results, "g", facts(results, "g")) is None


def test_a_failed_setting_is_named() -> None:
    results, _ = complete(failing="float16")
    verdict = judge(GUIDE.step("e"), facts(results, "e"))
    assert verdict is not None and "float16 failed: " in verdict["why"] and "no kernels" in verdict["why"]


def test_times_add_up_to_a_step() -> None:
    metrics = {"step_seconds": 0.2, "kernels": KERNELS}
    assert sum(times(metrics).values()) == pytest.approx(0.2)
    assert spent(metrics) == "A step of 200 ms went to: convolution 25 %, not in oneDNN's log 75 %."
    assert spent({"step_seconds": 0.04, "kernels": KERNELS}).endswith(
        "convolution 125 %. Some of these ran at the same time."
    )
    assert times({"step_seconds": 0.2, "kernels": {}}) == {} and spent({}) == ""
    assert "3.84" in CITED and "17.69" in CITED and "4.61" in CITED and "Baruffa" in CITED


def test_the_panel_draws_what_was_measured(store: Store, session: Any) -> None:
    from tests.web import seed
    from workshop.report.snapshot import Snapshot

    run = store.submit(session.id, WORKLOAD.name, {}, seed.PLACEMENT)
    assert PANELS[0].show(Snapshot(store, store.run(run.id))) == []
    store.take_next(session.id)
    metrics = {"images_per_second": 40.0, "step_seconds": 0.2, "kernels": KERNELS}
    store.finish(run.id, "completed", metrics=metrics)
    (card,) = PANELS[0].show(Snapshot(store, store.run(run.id)))
    assert "jit:avx512_core" in str(card) and "158" in str(card) and "3.84" in str(card)
