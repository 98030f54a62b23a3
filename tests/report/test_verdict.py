"""What an HPC trainer would say of a run, as a table: the run on the left, words that must be in the answer right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gpu_node import MACHINE, ranks_with_gpus
from tests.report.analysis.cases import machine, rank_map, run, times
from workshop.report.endings import OURS
from workshop.report.verdict import verdict
from workshop.store.records import RunRecord, Total

ONE = {"ranks": 1, "cores_per_rank": 1, "threads": None}
EVEN = times([2.00, 2.03], [0.10, 0.08])


def beside(*waited: float, share: bool = False, **changes: Any) -> RunRecord:
    """A run whose ranks worked for a second each, and waited so long for a core: their own, or one that they share."""
    placed = rank_map(*([0 if share else rank] for rank in range(len(waited))))
    for report, seconds in zip(placed["ranks"], waited, strict=True):
        report["core"] = {"worked": 1.0, "waited": seconds}
    return run(rank_map=placed, **changes)


def four(*allowed: list[int]) -> RunRecord:
    return run(placement={"ranks": 4, "cores_per_rank": 1}, rank_map=rank_map(*allowed))


def on_gpus(*placed: tuple[int, str]) -> RunRecord:
    """Ranks of a core each on a node of 2 x 32 cores, with these first units and GPUs."""
    reports = ranks_with_gpus(*(([unit], gpus) for unit, gpus in placed))
    return run(placement={"ranks": len(placed), "cores_per_rank": 1}, rank_map=reports, machine=MACHINE)


COMPLETED: dict[str, tuple[RunRecord, dict[str, Any], str, list[str], str]] = {
    "two balanced ranks": (
        run(),
        EVEN,
        "Well balanced.",
        ["2.01 s each", "within 1 %", "moving data took 4 %", "waiting took 0 %"],
        "1 rank (--ranks 1)",
    ),
    "one rank on two cores": (
        run(placement=ONE, rank_map=rank_map([0])),
        times([4.0], [0.001]),
        "Half of the machine was idle.",
        ["1 of 2 cores"],
        "Try 2 ranks (--ranks 2)",
    ),
    "one rank on one core": (
        run(placement=ONE, rank_map=rank_map([0]), machine=machine(1)),
        times([4.0], [0.001], steps=12),
        "One rank, working alone.",
        ["4 s in 12 steps"],
        "baseline",
    ),
    "a rank on the other package than its GPU": (
        on_gpus((0, "0"), (16, "3"), (32, "4"), (48, "1")),
        times([2.0] * 4, [0.1] * 4),
        "Rank 3 uses GPU 1, and its cores are on the other package.",
        ["GPU 1 of node is connected to package 0, and rank 3 may run on package 1 only."],
        "or give it a GPU of package 1 (gpu-bind=closest in Slurm)",
    ),
    "ranks on the other package than all of their GPUs": (
        on_gpus((0, "4,5"), (1, "4"), (2, "0")),
        times([2.0] * 3, [0.1] * 3),
        "Rank 0 may use GPUs 4 and 5, and its cores are on the other package.",
        ["GPUs 4 and 5 of node are connected to package 1", "The same is true of rank 1."],
        "Put rank 0 on package 1 (try --map-by package",
    ),
    "ranks that may use a GPU nearby, or one that is not known": (
        on_gpus((0, "4,0"), (1, "MIG-8a4e"), (2, "4,MIG-8a4e"), (3, "")),
        times([2.0] * 4, [0.1] * 4),
        "Part of the machine was idle.",
        ["4 ranks kept 4 of 64 cores busy."],
        "64 ranks",
    ),
    "four bound ranks on two cores": (
        four([0], [1], [0], [1]),
        times([2.0, 2.1, 2.0, 2.1], [0.5, 0.6, 0.4, 0.4]),
        "Oversubscribed: 4 ranks on 2 cores.",
        ["Hardware thread 0 is shared by ranks 0 and 2", "hardware thread 1 is shared by ranks 1 and 3"],
        "Try 2 ranks (--ranks 2)",
    ),
    "two ranks on the same core of two": (
        run(rank_map=rank_map([0], [0])),
        EVEN,
        "Oversubscribed, although the machine has cores for all.",
        ["Hardware thread 0 is shared by ranks 0 and 1", "1 of 2 cores busy"],
        "--map-by core --bind-to core",
    ),
    "two ranks where one core of two is allowed": (
        run(rank_map=rank_map([0], [0]), machine={**machine(2), "allowed": [0]}),
        EVEN,
        "Oversubscribed: 2 ranks on 1 core.",
        ["Hardware thread 0 is shared by ranks 0 and 1", "1 other core may not be used here"],
        "Try 1 rank (--ranks 1)",
    ),
    "two threads bound to one core": (
        run(placement={"ranks": 1, "threads": 2}, rank_map=rank_map([0])),
        times([4.0], [0.001]),
        "Oversubscribed: each rank has more threads than cores.",
        ["Rank 0 runs 2 threads on hardware thread 0"],
        "Try 2 cores for each rank (--cores-per-rank 2)",
    ),
    "three ranks on two cores with hardware threads": (
        run(
            placement={"ranks": 3},
            machine=machine(2, hardware_threads=2),
            rank_map=rank_map([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]),
        ),
        times([2.0, 2.0, 2.0]),
        "Hardware threads share cores.",
        ["Hardware threads 0 to 3, in 2 cores, are shared by ranks 0 to 2"],
        "Try 2 ranks (--ranks 2)",
    ),
    "unbound ranks": (
        run(rank_map=rank_map([0, 1], [0, 1], seen=[[0, 1], [1]])),
        EVEN,
        "Unbound: nothing keeps the ranks in place.",
        ["all 2 hardware threads", "threads of rank 0 were seen on several", "within 1 %"],
        "--bind-to core",
    ),
    "steps too small to share": (
        run(),
        times([0.012, 0.0121], [0.030, 0.031]),
        "Communication dominates: each step is too small to share.",
        ["71 %", "computes for 602 µs", "communicates for 1.5 ms"],
        "1 rank (--ranks 1)",
    ),
    "a straggler, seen by the others' waiting in the collective": (
        run(),
        times([2.0, 3.1], [1.2, 0.1]),
        "Rank 1 holds up the others.",
        ["hardware thread 1 of laptop", "computed for 3.1 s, the other for 2 s: 55 % more", "Waiting is 17 %"],
        "save 17 % of the time",
    ),
    "a rank that one step made late": (
        run(),
        {
            "time.compute": {0: Total(20, 2.0, 0.09, 0.12), 1: Total(20, 3.1, 0.09, 1.2)},
            "time.communicate": {0: Total(20, 1.2), 1: Total(20, 0.1)},
        },
        "Disturbed: some steps took much longer than others, so nobody can be named who is late.",
        ["Rank 1 computed for 3.1 s, the other for 2 s. But its quickest step took 90 ms", "its longest 1.2 s"],
        "nobody else's run is under way",
    ),
    "ranks that are late in turn": (
        run(),
        times([2.0, 2.05], [0.1, 0.1], [0.6, 0.55]),
        "The ranks take turns at being late.",
        ["21 %", "within 1 %"],
        "nobody else's run is under way",
    ),
    "a straggler whose core others use": (
        beside(0.05, 1.0),
        times([2.0, 3.1], [1.2, 0.1]),
        "Other programs use the cores: ranks waited up to 50 % of the time for one.",
        [
            "Rank 1 could run, but waited for a core for 50 % of the time, the other for up to 5 %",
            "Also: rank 1 (hardware thread 1 of laptop) computed",
        ],
        "nobody else's run is under way",
    ),
    "ranks that hardly wait for a core": (beside(0.05, 0.02), EVEN, "Well balanced.", [], ""),
    "small messages explain no long exchange": (
        run(metrics={"bytes_per_step": 536, "messages_per_step": 1}),
        times([0.012, 0.0121], [0.030, 0.031]),
        "The ranks wait for each other in the exchange.",
        ["71 %", "communicates for 1.5 ms", "The 536 B that a step exchanges need 21.1 µs at most"],
        "nobody else's run is under way",
    ),
    "ranks that wait for their images": (
        run(),
        times([1.0, 1.1], [0.1, 0.1], input=[0.9, 0.8]),
        "Reading the input dominates.",
        ["43 %", "45 ms a step"],
        "in memory",
    ),
    "a workload without phases": (run(), {}, "Done; it did not tell how its ranks spent their time.", [], "ctx.phase"),
}


@pytest.mark.parametrize("case", COMPLETED)
def test_what_is_said_of_a_completed_run(case: str) -> None:
    record, totals, expected, in_why, in_next = COMPLETED[case]
    said = verdict(record, totals)
    assert said["verdict"] == expected
    for words in in_why:
        assert words in said["why"]
    assert in_next in said["next"]


def problem(kind: str, message: str, rank: int | None = None, traceback: str = "") -> dict[str, Any]:
    return {"rank": rank, "host": "laptop", "type": kind, "message": message, "traceback": traceback}


TRACEBACK = """Traceback (most recent call last):
  File "/site-packages/workshop/engine/host.py", line 20, in execute
    function(ctx, params)
  File "/site-packages/workshop/workloads/kmeans/fit.py", line 41, in fit
    raise ValueError("no pixels left")
ValueError: no pixels left"""
KILLED = "rank 1 (process 77 on laptop) was ended by SIGKILL"

ENDED: dict[str, tuple[dict[str, Any], str, list[str], str]] = {
    "a rank was killed": (
        {"status": "failed", "progress": (12.0, 20.0), "error": problem("RankDied", KILLED, 1)},
        "Rank 1 died.",
        ["SIGKILL", "5 s", "12 of 20 steps"],
        "want of memory",
    ),
    "a rank raised": (
        {"status": "failed", "error": problem("ValueError", "no pixels left", 1, TRACEBACK)},
        "Rank 1 failed with ValueError.",
        ["no pixels left", "other ranks were stopped"],
        "line 41 of fit.py",
    ),
    "Open MPI refused": (
        {"status": "failed", "progress": None, "error": problem("EnginesFailed", "There are not enough slots\navail.")},
        "The ranks did not start.",
        ["There are not enough slots\navail."],
        "fewer ranks",
    ),
    "it took too long": (
        {"status": "failed", "error": problem("TimeLimit", "the run took longer than the 10 minutes allowed")},
        "The run took longer than allowed.",
        ["The run took longer than the 10 minutes"],
        "less work",
    ),
    "out of memory": (
        {
            "status": "failed",
            "params": {"batch": 64, "size": 56, "data": "digits"},
            "placement": {"ranks": 4},
            "error": problem("OutOfMemory", "the memory of laptop ran out: rank 3 had most", 3),
        },
        "Out of memory.",
        ["The memory of laptop ran out: rank 3 had most.", "5 s"],
        "on 2 ranks (--ranks 2), with half the batch (--batch 32) or with half the size (--size 28): what every rank",
    ),
    "a host is gone": (
        {"status": "failed", "error": problem("SiteLost", "the host hostB is lost: it has not answered for 5 s.")},
        "The place where the ranks ran is gone.",
        ["The host hostB is lost: it has not answered for 5 s."],
        "start it again",
    ),
    "cancelled while it ran": (
        {"status": "cancelled", "progress": (3.0, 20.0)},
        "Cancelled.",
        ["5 s", "3 of 20 steps", "kept"],
        "again",
    ),
    "the session was stopped": (
        {"status": "cancelled", "error": problem("SessionStopped", "the session was stopped during the run")},
        "Cancelled: the session was stopped.",
        ["5 s"],
        "Start the run again when the session is up",
    ),
    "the conductor died": (
        {"status": "interrupted", "progress": (3.0, 20.0)},
        "Interrupted: the session's conductor ended during the run.",
        ["3 of 20 steps", "kept"],
        "the instructor launches it",
    ),
    "it waits": ({"status": "queued", "started_at": None}, "Not started yet.", ["its turn"], "queue"),
}


@pytest.mark.parametrize("case", ENDED)
def test_what_is_said_of_a_run_that_did_not_complete(case: str) -> None:
    changes, expected, in_why, in_next = ENDED[case]
    said = verdict(run(**changes), EVEN)
    assert said["verdict"].startswith(expected)
    for words in in_why:
        assert words in said["why"]
    assert in_next in said["next"]


@pytest.mark.parametrize("kind", OURS)
def test_each_error_of_the_platform_has_a_verdict_of_its_own(kind: str) -> None:
    said = verdict(run(status="failed", error=problem(kind, "it broke")), {})
    assert said["why"].startswith("It broke.")
    assert ("failed with" in said["verdict"]) == (kind == "ConductorTerminated")


@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ("checkpoint.npz is of another model", "checkpoint.npz is of"),
        ("batch is 2.5, but a whole number is needed", "Batch is 2.5"),
    ],
)
def test_a_sentence_may_begin_with_the_name_of_a_file(message: str, begins: str) -> None:
    said = verdict(run(status="failed", error=problem("BadInput", message)), {})
    assert said["why"].startswith(begins)


def test_long_words_of_somebody_else_are_cut() -> None:
    said = verdict(run(status="failed", error=problem("EnginesFailed", "no slots " * 500)), {})
    assert len(said["why"]) < 500 and "…" in said["why"]


seconds = st.floats(min_value=0, max_value=1e6) | st.just(float("nan")) | st.just(float("inf"))
counted = st.builds(Total, st.integers(1, 10**6), seconds, st.none() | seconds, st.none() | seconds)
by_rank = st.dictionaries(st.integers(0, 5), counted, max_size=6)


@given(
    totals=st.dictionaries(st.sampled_from(["time.compute", "time.communicate", "time.wait", "inertia"]), by_rank),
    allowed=st.lists(st.sets(st.integers(0, 7)), max_size=6),
    cores=st.integers(1, 8),
    threads=st.none() | st.integers(1, 16),
    status=st.sampled_from(["running", "completed", "failed", "cancelled", "interrupted", "queued"]),
)
def test_every_run_has_a_verdict(
    totals: dict[str, Any], allowed: list[set[int]], cores: int, threads: int | None, status: str
) -> None:
    record = run(
        status=status,
        placement={"ranks": max(len(allowed), 1), "threads": threads},
        rank_map=rank_map(*(sorted(units) for units in allowed)),
        machine=machine(cores),
    )
    said = verdict(record, totals)
    assert set(said) == {"verdict", "why", "next"}
    assert all(isinstance(words, str) and words for words in said.values())
