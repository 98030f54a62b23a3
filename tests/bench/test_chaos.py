"""What the bench of chaos plans and how it judges; the chaos itself takes an hour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.support import until
from workshop.bench import chaos
from workshop.bench.chaos.stage import (
    ACTIONS,
    LATEST,
    LONGEST,
    TARGETS,
    ChaosEvent,
    SessionTraces,
    files_left,
    plan,
    processes_left,
    true_status,
)
from workshop.core import processes

EVENT = ChaosEvent(1, "rank", "kill", "kmeans", after=2.0, seconds=3.0, busy=False, choice=0.5)


def event(**changes: object) -> ChaosEvent:
    return ChaosEvent(**{**vars(EVENT), **changes})


def test_the_same_seed_plans_the_same_events() -> None:
    events = plan(200, 7, ["kmeans", "mnist"])
    assert events == plan(200, 7, ["kmeans", "mnist"]) != plan(200, 8, ["kmeans", "mnist"])
    assert events[:10] == plan(10, 7, ["kmeans", "mnist"])
    met = Counter((one.target, one.action) for one in events)
    assert met.keys() == {(target, action) for target in TARGETS for action in ACTIONS}
    assert max(met.values()) - min(met.values()) <= 1
    assert {one.workload for one in events} == {"kmeans", "mnist"}
    assert 50 < sum(one.busy for one in events) < 150
    assert 10 < sum(one.after < 0 for one in events) < 90
    assert all(one.after <= LATEST[one.workload] and 0 < one.seconds <= LONGEST for one in events)


@pytest.mark.parametrize(
    ("of", "hit", "status", "error", "true"),
    [
        (EVENT, True, "completed", None, True),
        (EVENT, True, "failed", {"type": "RankDied", "message": "rank 1 was ended by SIGKILL"}, True),
        (EVENT, True, "failed", {"type": "RankDied", "message": ""}, False),
        (EVENT, True, "failed", {"type": "KeyError", "message": "x"}, False),
        (EVENT, True, "failed", {"type": "EnginesFailed", "message": "Open MPI refuses this placement"}, False),
        (EVENT, True, "failed", {"type": "RanksNotStarted", "message": "rank 1 ended with exit code 86"}, True),
        (EVENT, False, "failed", {"type": "RankDied", "message": "rank 1 was ended by SIGKILL"}, False),
        (EVENT, True, "interrupted", {"type": "Interrupted", "message": "the conductor died"}, False),
        (EVENT, True, "running", None, False),
        (EVENT, True, "cancelled", {"type": "SessionStopped", "message": "it was stopped"}, False),
        (event(target="conductor"), True, "interrupted", {"type": "Interrupted", "message": "it died"}, True),
        (event(target="dashboard"), True, "failed", {"type": "RankDied", "message": "rank 1 died"}, False),
    ],
)
def test_which_ends_are_true(of: ChaosEvent, hit: bool, status: str, error: dict[str, str] | None, true: bool) -> None:
    assert true_status(of, hit, status, error) is true


def test_the_figures_of_a_bench() -> None:
    turns = [
        chaos.EventResult(EVENT, True, "failed", True, 4.0),
        chaos.EventResult(event(number=2, action="stop", busy=True), True, "completed", True, 8.0),
        chaos.EventResult(
            event(number=3, target="dashboard"), False, "", False, None, ["/dev/shm/x"], "nothing answers"
        ),
    ]
    assert chaos.ratios(turns, 4, ["python (7)"]) == {"true_status": 0.5, "next_run_works": 0.5, "left_behind": 0.5}
    assert turns[0].words == "1: kill of a rank, 2.0 s into kmeans: run failed, the next worked after 4.0 s"
    assert turns[2].words.endswith(
        "(no such process): no run, the next worked not at all; nothing answers; left: /dev/shm/x"
    )
    rows = {row["name"]: row for row in json.loads(json.dumps(chaos.rows(turns, ["python (7)"], seed=5)))}
    assert (rows["next_run_median_seconds"]["value"], rows["next_run_p95_seconds"]["value"]) == (6.0, 8.0)
    assert (rows["events"]["value"], rows["events"]["seed"], rows["events with all cores taken"]["value"]) == (3, 5, 1)
    assert (rows["kill rank"]["events"], rows["kill rank"]["runs"]) == (1, "1 failed")
    assert rows["event 3"]["note"] == turns[2].words
    assert rows["after the end"]["note"] == "left: python (7)"


@pytest.mark.real
def test_earlier_ranks_and_second_servers_are_left_behind() -> None:
    sleep = [sys.executable, "-c", "input()"]
    tags = [f"home#1-{os.getpid()}-2", f"home#1-{os.getpid()}-10", f"home#1-{os.getpid()}-10"]
    started = [
        subprocess.Popen(sleep, stdin=subprocess.PIPE, env=os.environ | {processes.ENGINES_TAG: tag}) for tag in tags
    ]
    web = [*sleep, "workshop.server"]
    started += [subprocess.Popen(web, stdin=subprocess.PIPE) for _ in range(2)]
    found = [psutil.Process(one.pid) for one in started]
    try:
        until(
            lambda: all(len(one.environ()) and "input()" in one.cmdline() for one in found), 60, "the programs to start"
        )
        assert processes_left([*found[1:3], found[3]]) == []
        older, second = processes_left(found)
        assert str(started[0].pid) in older and second == "2 processes as dashboard"
    finally:
        for one in started:
            one.kill()
            one.communicate()


def test_segments_and_folders_that_nobody_has_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "ompi.17").mkdir()
    (tmp_path / "ompi.18").mkdir()
    (tmp_path / "segment").touch()
    seen = SessionTraces({str(tmp_path / "segment"), str(tmp_path / "gone")}, {17, 18, 19})
    found = files_left(seen, SessionTraces(set(), {18}))
    assert found == [str(tmp_path / "segment"), str(tmp_path / "ompi.17")]
    seen.forget(found)
    assert files_left(seen, SessionTraces(set(), {18})) == []
