"""What all benches share."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from workshop import bench
from workshop.bench.crew import crew
from workshop.errors import WorkshopError

RANK = """
import os, sys
from workshop.bench.crew import answer, orders
for order in orders(sys.argv[1], 0):
    if order.get("die"):
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    print("some noise", flush=True)
    answer({"pid": os.getpid(), "twice": 2 * order["number"]})
"""


def test_contenders_take_turns_after_a_warm_up():
    calls = []

    def contender(name):
        def call():
            calls.append(name)
            return len(calls)

        return call

    told = []
    results = bench.interleaved({name: contender(name) for name in "abc"}, 3, lambda *turns: told.append(turns))
    assert "".join(calls) == "abc" + "bca" + "cab" + "abc"
    assert {name: len(values) for name, values in results.items()} == {"a": 3, "b": 3, "c": 3}
    assert min(min(values) for values in results.values()) == 4  # nothing of the warm-up
    assert told[0] == (0, 12) and told[-1] == (12, 12)
    assert told == sorted(told)


def test_the_shape_of_a_bench():
    rows = [bench.row("ours", [3.0, 1.0, 2.0], "s", clusters=10), bench.missing("theirs", "s", "Not installed.")]
    document = json.loads(json.dumps(bench.document("speed", bench.machine(["numpy"]), rows, {"theirs": 2.5})))
    assert document["bench"] == "speed"
    assert document["machine"]["units"] and document["machine"]["versions"]["numpy"]
    expected = {"name": "ours", "value": 2.0, "unit": "s", "low": 1.0, "high": 3.0, "repeats": 3, "clusters": 10}
    assert document["rows"][0] == expected
    assert document["rows"][1] == {"name": "theirs", "value": None, "unit": "s", "note": "Not installed."}
    assert document["ratios"] == {"theirs": 2.5}


def test_a_crew_waits_for_its_orders_without_using_a_core():
    with crew("one", [sys.executable, "-c", RANK], 1, {}) as order:
        pid = order({"number": 4})["pid"]
        before = sum(processor_ticks(pid))
        time.sleep(0.5)
        assert sum(processor_ticks(pid)) - before <= 2
        assert order({"number": 5})["twice"] == 10
    assert not Path(f"/proc/{pid}").exists()


def test_a_crew_that_dies_is_told_with_its_last_words():
    with crew("unlucky", [sys.executable, "-c", RANK], 1, {}) as order:
        assert order({"number": 1})["twice"] == 2
        with pytest.raises(WorkshopError, match=r"unlucky ended .* out of luck"):
            order({"die": True})


def processor_ticks(pid):
    """User and system time, in clock ticks (usually 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert os.sysconf("SC_CLK_TCK") >= 100
    return int(fields[11]), int(fields[12])
