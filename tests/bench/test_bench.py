"""What all benches share."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workshop import bench
from workshop.bench.crew import crew, once
from workshop.core.errors import WorkshopError

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


@pytest.mark.real
def test_a_crew_waits_for_its_orders_without_using_a_core():
    with crew("one", [sys.executable, "-c", RANK], 1, {}) as order:
        pid = order({"number": 4})["pid"]
        before = sum(processor_ticks(pid))
        time.sleep(0.5)
        assert sum(processor_ticks(pid)) - before <= 2
        assert order({"number": 5})["twice"] == 10
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.real
def test_a_crew_that_dies_is_told_with_its_last_words():
    with crew("unlucky", [sys.executable, "-c", RANK], 1, {}) as order:
        assert order({"number": 1})["twice"] == 2
        with pytest.raises(WorkshopError, match=r"unlucky ended .* out of luck"):
            order({"die": True})


SLOW = """
import os, sys, time
from workshop.bench.crew import answer, orders
for order in orders(sys.argv[1], 0):
    answer({"pid": os.getpid()})
    time.sleep(60)
"""
TERMINATED = """
import sys
from workshop.bench.crew import crew
from workshop.bench import own_state
with own_state(), crew("slow", [sys.executable, "-c", sys.argv[1]], 1, {}) as order:
    print(order({})["pid"], flush=True)
    order({})
"""


@pytest.mark.real
def test_sigterm_leaves_nothing_behind(workshop_home: Path, tmp_path: Path):
    folders = tmp_path / "folders"
    folders.mkdir()
    words = [sys.executable, "-c", TERMINATED, SLOW]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(folders)}
    ) as bench_:
        pid = int(bench_.stdout.readline())
        assert list(folders.iterdir())
        bench_.terminate()
        time.sleep(0.1)
        bench_.terminate()  # whoever is impatient
        assert bench_.wait(30) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{pid}").exists()
    assert list(folders.iterdir()) == []


def processor_ticks(pid):
    """User and system time, in clock ticks (usually 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert os.sysconf("SC_CLK_TCK") >= 100
    return int(fields[11]), int(fields[12])


def test_neighbours_are_measured_back_to_back_in_alternating_order():
    calls = []
    contenders = {name: lambda name=name: calls.append(name) for name in "abc"}
    results = bench.interleaved(contenders, 3, mirrored=True, warm_up=0)
    assert "".join(calls) == "abc" + "cba" + "abc"
    assert {name: len(values) for name, values in results.items()} == {"a": 3, "b": 3, "c": 3}


@pytest.mark.parametrize(("count", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10)])
def test_the_interval_of_a_median(count, low, high):
    assert bench.interval([*range(count, 0, -1)]) == (low, high)


def test_the_interval_holds_the_median_as_often_as_it_says():
    stream = random.Random(7)
    held = 0
    for _ in range(2000):
        low, high = bench.interval([stream.expovariate(1) for _ in range(9)])
        held += low <= math.log(2) <= high
    assert held / 2000 == pytest.approx(0.961, abs=0.015)


def test_a_comparison_of_pairs():
    ours, theirs = [2.0, 3.0, 9.0], [1.0, 2.0, 3.0]
    line = bench.ratio("ours_vs_theirs", ours, theirs)
    assert (line["value"], line["low"], line["high"], line["unit"], line["repeats"]) == (2.0, 1.5, 3.0, "ratio", 3)
    document = bench.document("speed", {}, [line], {"ours_vs_theirs": 2.0}, {"ours_vs_theirs": (1.5, 3.0)})
    assert json.loads(json.dumps(document))["intervals"] == {"ours_vs_theirs": [1.5, 3.0]}
    assert "intervals" not in bench.document("speed", {}, [], {})


@pytest.mark.real
def test_a_program_that_is_started_for_its_turn():
    environment = os.environ | {"SAID": "7"}
    code = "import os; print('noise'); print('{\"said\": ' + os.environ['SAID'] + '}')"
    assert once("it", [sys.executable, "-c", code], environment, 20) == {"said": 7}
    with pytest.raises(WorkshopError, match="it ended with exit code 3 while it was measured: too bad"):
        once(
            "it", [sys.executable, "-c", "import sys; print('too bad', file=sys.stderr); sys.exit(3)"], environment, 20
        )
    with pytest.raises(WorkshopError, match="it has not ended within 0 s"):
        once("it", ["sleep", "60"], environment, 0.2)
