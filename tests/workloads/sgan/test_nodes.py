"""The guided study over hosts: its cells and verdicts, and runs of both kinds on emulated hosts with a limited link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import emulated, session_on
from tests.workloads.sgan.study import world
from workshop.cli.emulation import hosts as demo
from workshop.cli.main import run
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.guided.kind import answer, more
from workshop.study.guided.plan import Setting, plan
from workshop.study.guided.step_results import StepResults, facts, judge, step_results
from workshop.study.guided.step_results import cells as cells_of
from workshop.study.kinds import Sofar
from workshop.workloads.sgan import WORKLOAD
from workshop.workloads.sgan.nodes.facts import GUIDE

HOSTS = demo.names(GUIDE.hosts)
EXCHANGE = 0.05  # seconds for each host beyond the first
RANK = 500 << 20  # bytes


def metrics(params: Mapping[str, Any], ranks: int) -> dict[str, Any]:
    """What ranks tell whose step takes its compute, or 0.1 s, and an exchange that grows with the ranks."""
    compute, exchange = params.get("compute", 0.1), EXCHANGE * (ranks - 1)
    return {
        "images_per_second": ranks * params["batch"] / (compute + exchange),
        "phases": {"compute": [compute] * ranks, "communicate": [exchange] * ranks, "wait": [0.0] * ranks},
        "private_memory": [RANK * params.get("size", 28) // 112] * ranks,
    }


def complete(fitting: int = 3, message: str = "the ranks took more memory") -> StepResults:
    """All trials of the study, on a first host that holds so many ranks."""
    setting = plan(GUIDE, {"data": "digits"}, 2, hosts=HOSTS)
    assert Setting.read(GUIDE, setting.description()) == setting
    study = StudyRecord(1, GUIDE.kind, GUIDE.workload, setting.description(), "running", "", 0.0, None, 0, 0, 0)
    trials: list[Trial] = []
    runs: dict[int, RunRecord] = {}
    while further := more(GUIDE, Sofar(study, trials, runs)):
        assert len(trials) < 40, "the study ends"
        for trial in further:
            WORKLOAD.check(trial.params)
            where = Placement.parse(trial.placement)
            failed = len(where.hosts) == 1 and where.ranks > fitting
            kind = "OutOfMemory" if "memory" in message else "RuntimeError"
            result = ("failed", {}, {"type": kind, "message": message})
            if not failed:
                result = ("completed", metrics(trial.params, where.ranks), None)
            runs[len(runs) + 1] = world.record(len(runs) + 1, trial, *result)
            trials.append(replace(trial, run_id=len(runs)))
    return step_results(GUIDE, Sofar(study, trials, runs))


def texts(results: StepResults, step: str) -> dict[str, str]:
    assert results.done(step)
    verdict = judge(GUIDE.step(step), facts(results, step))
    assert verdict is not None and "{" not in "".join(verdict.values())
    return verdict


def test_longer_compute_leaves_more_of_the_hosts_speed() -> None:
    results = complete()
    assert [len(cell.placement["hosts"]) for cell in results.results("a")] == [1, 2, 4, 1, 2, 4]
    assert all(cell.placement["ranks"] == cell.point["hosts"] for cell in results.results("a"))
    assert "3.48×" in texts(results, "a")["verdict"] and "2.29×" in texts(results, "a")["verdict"]  # 4 * 1 / 1.15
    assert "43 %" in texts(results, "a")["why"], "0.15 of 0.35 s are the exchange"
    measured = answer(results, "a", facts(results, "a"))
    assert measured is not None and measured.value == pytest.approx(4 * 0.2 / 0.35)


@pytest.mark.parametrize("fitting", [1, 2, 3])
def test_ranks_that_fit_and_the_session_s_sentence(fitting: int) -> None:
    results = complete(fitting)
    memory, ranks = answer(results, "b", facts(results, "b")), answer(results, "c", facts(results, "c"))
    assert memory is not None and ranks is not None and (memory.value, ranks.value) == (500, fitting)
    assert "500 MiB" in texts(results, "b")["verdict"] and "125 MiB" in texts(results, "b")["why"]
    assert texts(results, "c")["verdict"].endswith(f"fit, {fitting + 1} do not.")
    assert f"With {fitting + 1}, the ranks took more memory." in texts(results, "c")["why"]


def test_other_failures_are_no_limit_of_memory() -> None:
    for results in (complete(2, "the link is down"), complete(4)):
        assert texts(results, "c")["verdict"].startswith("No limit shows")
    assert "the link is down" in texts(complete(2, "the link is down"), "c")["why"]


def test_a_session_without_hosts_is_refused_with_the_command_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        BadInput, match=r"needs a session on 4 hosts, but this session has 2; .* workshop demo hosts --hosts 4"
    ):
        plan(GUIDE, {}, 2, hosts=HOSTS[:2])
    for words, said in (
        (["--link", "fast"], "link is 'fast'"),
        (["--session", "class", "--memory", "1G"], "leave them or --session out"),
    ):
        assert run(["study", "run", "nodes", *words]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.real
def test_cells_run_on_emulated_hosts(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One host and two hosts do the steps at the pace of their compute; four ranks of the first host are too many."""
    monkeypatch.setenv("WORKSHOP_MEMORY", "1G")
    setting = plan(GUIDE, {"data": "digits", "iterations": 6}, 2, hosts=HOSTS)
    cells = {step: cells_of(StepResults(setting, [], {}), GUIDE.step(step)) for step in "ac"}
    with emulated(2, 25e6) as hosts, session_on(hosts, workshop_home, "hostA:2,hostB:2", "--oversubscribe") as session:
        for count, cell in enumerate(cells["a"][:2], 1):
            sent = hosts.sent("hostB")
            run = session.wait(session.submit("sgan", Placement.parse(cell.placement), **cell.params))
            assert run.status == "completed", run.error
            told, steps = run.metrics, run.metrics["measured_steps"]
            assert [rank["host"] for rank in run.as_json()["rank_map"]["ranks"]] == HOSTS[:count]
            assert min(told["phases"]["compute"]) >= 0.99 * cell.params["compute"] * steps
            assert told["images_per_second"] <= 1.01 * count * 24 / cell.params["compute"]
            assert len(set(told["weights"])) == 1 and min(told["private_memory"]) > 50 << 20
        assert hosts.sent("hostB") - sent > 6 * told["bytes_per_step"] / 2 > 0, "it sends its gradients"
        crowded = cells["c"][-1]
        run = session.wait(session.submit("sgan", Placement.parse(crowded.placement), **crowded.params))
        assert run.status == "failed" and "WORKSHOP_MEMORY allows" in run.error["message"]
        assert run.error["host"] == "hostA"
