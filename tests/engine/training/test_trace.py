"""All ranks on one time axis."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workshop.engine.training.trace import trace

# Two ranks, one step: rank 1 has its gradients 30 ms after rank 0, moving data takes 5 ms.
MARKS = np.array([[[0.0, 0.01, 0.03, 0.065, 0.07]], [[0.0, 0.02, 0.06, 0.065, 0.075]]]) + 1.7e9


def of(built: dict[str, Any], pid: int) -> dict[str, tuple[int, int]]:
    """Begin and length of the spans of a process."""
    return {e["name"]: (e["ts"], e["dur"]) for e in built["traceEvents"] if e["pid"] == pid and e["ph"] == "X"}


def test_what_exceeds_the_least_exchange_of_a_step_is_waiting() -> None:
    built = trace(MARKS, 7, ["laptop", "laptop"])
    assert of(built, 1) == {
        "input": (0, 10_000),
        "compute": (10_000, 20_000),
        "wait": (30_000, 30_000),
        "exchange": (60_000, 5_000),
        "update": (65_000, 5_000),
    }
    assert of(built, 2) == {
        "input": (0, 20_000),
        "compute": (20_000, 40_000),
        "exchange": (60_000, 5_000),
        "update": (65_000, 10_000),
    }
    assert {e["args"]["step"] for e in built["traceEvents"] if e["ph"] == "X"} == {7}
    assert [e["pid"] for e in built["traceEvents"] if e.get("args", {}).get("last")] == [2]
    names = [e["args"]["name"] for e in built["traceEvents"] if e["name"] == "process_name"]
    assert names == ["rank 0 on laptop", "rank 1 on laptop"]
    assert built["otherData"] == {"start": 1.7e9, "ranks": 2, "first_step": 7, "steps": 1}
    json.dumps(built, allow_nan=False)


def test_ranks_of_several_hosts_are_on_one_clock() -> None:
    """Host b is an hour behind; one of its ranks is late in an exchange, and one exchange altogether."""
    steps = np.arange(5)[None, :, None] * 0.1
    truth = np.concatenate([MARKS, MARKS[1:]]) + steps
    truth[2, 1, 3:] += 0.01
    truth[1:, 3, 3:] += 0.02
    theirs = truth - np.array([0.0, 3600.0, 3600.0])[:, None, None]
    built = trace(theirs, 0, ["a", "b", "b"])
    right = trace(truth, 0, ["a", "a", "a"])
    assert [e for e in built["traceEvents"] if e["ph"] == "X"] == [e for e in right["traceEvents"] if e["ph"] == "X"]
    assert built["otherData"]["start"] == 1.7e9, "by the clock of rank 0's host"
    assert built["otherData"]["clocks"] == "by the ends of exchanges"


def test_clocks_are_left_alone_where_nothing_tells_them() -> None:
    theirs = MARKS - np.array([0.0, 5.0])[:, None, None]
    alone = trace(theirs, 0, ["a", "b"], exchanged=False)
    assert of(alone, 1)["input"][0] == 5_000_000
    assert alone["otherData"]["clocks"].startswith("not compared")
    one_host = trace(theirs, 0, ["a", "a"])
    assert of(one_host, 1)["input"][0] == 5_000_000
    assert "clocks" not in one_host["otherData"]


def test_one_rank_waits_for_nobody() -> None:
    built = trace(MARKS[:1], 0, ["laptop"])
    assert set(of(built, 1)) == {"input", "compute", "exchange", "update"}
    assert not any(e.get("args", {}).get("last") for e in built["traceEvents"])


def test_no_step_is_no_span() -> None:
    built = trace(np.zeros((2, 0, 5)), 0, ["laptop", "laptop"])
    assert {e["ph"] for e in built["traceEvents"]} == {"M"}


@given(st.integers(1, 4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_spans_of_a_rank_never_overlap(ranks: int, steps: int, chance: Any) -> None:
    lengths = np.array([[[chance.random() / 1000 for _ in range(5)] for _ in range(steps)] for _ in range(ranks)])
    marks = np.cumsum(lengths.reshape(ranks, -1), axis=1).reshape(ranks, steps, 5) + 1.79e9
    built = trace(marks, 0, ["laptop"] * ranks)
    for rank in range(ranks):
        told = [(e["ts"], e["dur"]) for e in built["traceEvents"] if e["pid"] == rank + 1 and e["ph"] == "X"]
        assert all(length > 0 and begin >= 0 for begin, length in told)
        assert all(begin + length <= later for (begin, length), (later, _) in pairwise(told))
