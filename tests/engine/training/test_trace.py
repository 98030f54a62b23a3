"""All ranks on one time axis, and whatever Horovod's file holds."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from workshop.engine.training.trace import allreduces, negotiations, read_horovod, spans, start, trace

# Two ranks, one step: rank 1 has its gradients 30 ms after rank 0, moving data takes 5 ms.
MARKS = np.array([[[0.0, 0.01, 0.03, 0.065, 0.07]], [[0.0, 0.02, 0.06, 0.065, 0.075]]]) + 1.7e9

BEGAN = 1_700_000_000_000_000
HEAD = f"""[
{{"name": "process_name", "ph": "M", "pid": 0, "args": {{"start_time_since_epoch_in_micros":{BEGAN}}}}},
{{"name": "process_name", "ph": "M", "pid": 1, "args": {{"name": "gradient of the kernel"}}}},
"""
# The first all-reduce names who was ready when; the second comes from the response cache.
FIRST = [
    '{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 30000, "pid": 1}',
    '{"ph": "X", "name": "0", "ts": 30010, "pid": 1, "dur": 0}',
    '{"ph": "X", "name": "1", "ts": 60000, "pid": 1, "dur": 0}',
    '{"ph": "E", "ts": 60005, "pid": 1}',
    '{"ph": "B", "name": "ALLREDUCE", "ts": 60010, "pid": 1}',
    '{"ph": "B", "name": "MPI_ALLREDUCE", "ts": 60010, "pid": 1}',
    '{"ph": "E", "ts": 64000, "pid": 1}',
    '{"ph": "E", "ts": 64990, "pid": 1, "args": {"dtype": "float32", "shape": "[3, 3]"}}',
]
SECOND = [
    '{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 80000, "pid": 1}',
    '{"ph": "E", "ts": 81000, "pid": 1}',
    '{"ph": "B", "name": "ALLREDUCE", "ts": 81010, "pid": 1}',
    '{"ph": "E", "ts": 82000, "pid": 1, "args": {"dtype": "float32", "shape": "[3, 3]"}}',
]
FILE = HEAD + ",".join(FIRST + SECOND) + "]"


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


def test_horovods_events_are_on_the_same_axis() -> None:
    built = trace(MARKS, 0, ["laptop", "laptop"], read_horovod(FILE))
    theirs = [e for e in built["traceEvents"] if e["pid"] == 3 and e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in theirs] == [
        ("NEGOTIATE_ALLREDUCE", 30_000, 30_005),
        ("ALLREDUCE", 60_010, 4_980),
        ("MPI_ALLREDUCE", 60_010, 3_990),
        ("NEGOTIATE_ALLREDUCE", 80_000, 1_000),
        ("ALLREDUCE", 81_010, 990),
    ]
    assert theirs[0]["args"]["tensor"] == "gradient of the kernel"
    named = {e["name"]: e["args"]["name"] for e in built["traceEvents"] if e["ph"] == "M" and "name" in e["args"]}
    assert named == {"process_name": "Horovod, seen by rank 0", "thread_name": "tensor 1 float32 [3, 3]"}
    ready = {e["name"]: e["ts"] for e in built["traceEvents"] if e["ph"] == "i"}
    assert ready == {"rank 0 is ready": 30_010, "rank 1 is ready": 60_000}


@given(st.integers(1, 4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_spans_of_a_rank_never_overlap(ranks: int, steps: int, chance: Any) -> None:
    lengths = np.array([[[chance.random() / 1000 for _ in range(5)] for _ in range(steps)] for _ in range(ranks)])
    marks = np.cumsum(lengths.reshape(ranks, -1), axis=1).reshape(ranks, steps, 5) + 1.79e9
    built = trace(marks, 0, ["laptop"] * ranks)
    for rank in range(ranks):
        told = [(e["ts"], e["dur"]) for e in built["traceEvents"] if e["pid"] == rank + 1 and e["ph"] == "X"]
        assert all(length > 0 and begin >= 0 for begin, length in told)
        assert all(begin + length <= later for (begin, length), (later, _) in pairwise(told))


def test_the_file_is_read_as_horovod_leaves_it() -> None:
    events = read_horovod(FILE)
    assert len(events) == 2 + len(FIRST) + len(SECOND)
    assert start(events) == BEGAN
    assert allreduces(events) == 2
    assert [(span.begin, span.end, dict(span.ready)) for span in negotiations(events)] == [
        (30_000, 60_005, {0: 30_010, 1: 60_000}),
        (80_000, 81_000, {}),
    ]


def test_wherever_the_file_is_cut_off_what_came_before_is_read() -> None:
    whole = read_horovod(FILE)
    for length in range(len(FILE)):
        found = read_horovod(FILE[:length])
        assert found == whole[: len(found)]
        ended = sum(FILE[:length].count(event) > 0 for event in FIRST)
        assert len(found) >= ended
    assert len(read_horovod(FILE[:-1])) == len(read_horovod(FILE[:-1] + ",\n")) == len(whole)


numbers = st.integers() | st.floats() | st.sampled_from([0, 1, 5, 30_000])
odd = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
near = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(["B", "E", "X", "M", "i"]) | odd,
        "pid": st.integers(0, 2) | odd,
        "ts": numbers | odd,
        "name": st.sampled_from(["ALLREDUCE", "NEGOTIATE_ALLREDUCE", "process_name", "0", "1", "²"]) | odd,
        "args": st.dictionaries(st.sampled_from(["name", "shape", "start_time_since_epoch_in_micros"]), odd) | odd,
    },
)


@given(st.text() | st.text(alphabet='[]{}",:0 1.eE-NaInfityphBX\\u') | st.binary().map(lambda b: b.decode("latin-1")))
@example("[" * 100_000)
@example('[{"ts": NaN, "dur": -Infinity, "pid": 1e999}')
@example('[{"ts": ' + "9" * 5000 + "}]")
@example('[{"ph": "B"}, 3, "text", [1], {"ph": "E"}')
def test_the_reader_gives_a_list_of_dicts_whatever_it_reads(text: str) -> None:
    found = read_horovod(text)
    assert isinstance(found, list) and all(isinstance(event, dict) for event in found)
    json.dumps(found, allow_nan=False)
    assert allreduces(found) >= 0


@given(st.lists(near | odd, max_size=12), st.integers(0, 2000))
def test_whatever_the_events_hold_a_trace_can_be_made(events: list[Any], cut: int) -> None:
    text = json.dumps(events)
    found = read_horovod(text[: max(len(text) - cut, 0)])
    if cut == 0:
        assert len(found) == sum(isinstance(event, dict) for event in events)
    built = trace(MARKS, 0, ["laptop", "laptop"], found)
    json.dumps(built, allow_nan=False)
    for span in spans(found):
        assert math.isfinite(span.begin) and span.begin <= span.end
    assert all(e["dur"] >= 0 for e in built["traceEvents"] if e["ph"] == "X")
