"""What all benches share: turns, medians and ratios, the command line, and processes that are measured."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import benchmarks
from benchmarks import __main__ as command_line
from benchmarks.processes import once, waiting_ranks
from workshop.core.errors import WorkshopError
from workshop.sessions import measurement_lock

RANK = """
import os, sys
from benchmarks.processes import answer, orders
for order in orders(sys.argv[1], 0):
    if order.get("die"):
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    print("some noise", flush=True)
    answer({"pid": os.getpid(), "twice": 2 * order["number"]})
"""


def test_contenders_take_turns_there_and_back_after_a_warm_up() -> None:
    calls: list[str] = []

    def contender(name: str) -> Callable[[], int]:
        return lambda: calls.append(name) or len(calls)

    results = benchmarks.interleaved({name: contender(name) for name in "abc"}, 2)
    assert "".join(calls) == "abc" + "cba" + "abc"
    assert results == {"a": [6, 7], "b": [5, 8], "c": [4, 9]}


@pytest.mark.parametrize(("count", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10)])
def test_the_interval_of_a_median(count: int, low: int, high: int) -> None:
    assert benchmarks.interval([*range(count, 0, -1)]) == (low, high)


def test_a_document_has_rows_ratios_and_their_spread() -> None:
    ours, theirs = [2.0, 3.0, 9.0], [1.0, 2.0, 3.0]
    rows = [
        benchmarks.row("ours", ours, "s", clusters=10),
        benchmarks.missing("theirs", "s", "It is not installed."),
        benchmarks.ratio("ours_vs_theirs", ours, theirs),
    ]
    found = json.loads(json.dumps(benchmarks.document(benchmarks.machine(["numpy"]), rows, {"share": 0.5})))
    expected = {"name": "ours", "value": 3.0, "unit": "s", "low": 2.0, "high": 9.0, "repeats": 3, "clusters": 10}
    assert found["rows"][0] == expected and found["machine"]["versions"]["numpy"]
    assert found["ratios"] == {"ours_vs_theirs": 2.0, "share": 0.5}
    assert found["intervals"] == {"ours_vs_theirs": [1.5, 3.0]}
    head, *lines = command_line.table(found).splitlines()
    assert found["machine"]["model"] in head and "load" in head
    assert [line.split() for line in lines] == [
        ["ours", "3", "s"],
        ["theirs", "-", "It", "is", "not", "installed."],
        ["ours_vs_theirs", "2.000", "1.500", "to", "3.000"],
        ["share", "0.500"],
    ]


@pytest.mark.parametrize("name", command_line.NAMES)
def test_each_bench_is_listed_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], [name, "--help"]):
        with pytest.raises(SystemExit) as ended:
            command_line.main(words)
        assert ended.value.code == 0 and name in capsys.readouterr().out


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A bench of a function, and a measuring lock of the test's own."""

    def run(repeats: int = 3, names: tuple[str, ...] = ("a", "b")) -> benchmarks.Document:
        results = benchmarks.interleaved(dict.fromkeys(names, lambda: 2.0), repeats)
        return benchmarks.document(benchmarks.machine(), [benchmarks.row(*item, "s") for item in results.items()])

    monkeypatch.setitem(sys.modules, "benchmarks.speed", SimpleNamespace(__doc__="How fast it is.", run=run))
    monkeypatch.setattr(command_line, "NAMES", ("speed",))
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(sys, "argv", ["benchmarks"])


def test_parameters_of_a_bench_are_options(speed: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["speed", "--repeats", "2", "--names", "x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bench"] == "speed" and [(row["name"], row["repeats"]) for row in found["rows"]] == [("x", 2)]
    with pytest.raises(SystemExit):
        command_line.main(["speed", "--repeats", "0"])
    assert "0 should be above 0" in capsys.readouterr().err


def test_a_bench_waits_for_whoever_measures(speed: None, capsys: pytest.CaptureFixture[str]) -> None:
    with measurement_lock.machine_held("benchmarks mnist"):
        assert command_line.main(["speed", "--no-wait"]) == 1
    assert "(benchmarks mnist) of user" in capsys.readouterr().err


@pytest.mark.real
def test_ranks_wait_for_their_orders_without_using_a_core() -> None:
    with waiting_ranks("one", [sys.executable, "-c", RANK], 1, {}) as order:
        pid = order({"number": 4})["pid"]
        before = processor_ticks(pid)
        time.sleep(0.5)
        assert processor_ticks(pid) - before <= 2
        assert order({"number": 5})["twice"] == 10
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.real
def test_ranks_that_die_are_told_with_their_last_words() -> None:
    with waiting_ranks("unlucky", [sys.executable, "-c", RANK], 1, {}) as order:
        assert order({"number": 1})["twice"] == 2
        with pytest.raises(WorkshopError, match=r"unlucky ended.* out of luck"):
            order({"die": True})


@pytest.mark.real
def test_a_program_that_is_started_for_its_turn() -> None:
    environment = os.environ | {"SAID": "7"}
    code = "import os; print('noise'); print('{\"said\": ' + os.environ['SAID'] + '}')"
    assert once("it", [sys.executable, "-c", code], environment) == {"said": 7}
    failing = "import sys; sys.exit('too bad')"
    with pytest.raises(WorkshopError, match="it ended with exit code 1: too bad"):
        once("it", [sys.executable, "-c", failing], environment)
    with pytest.raises(WorkshopError, match="it has not ended within 0 s"):
        once("it", ["sleep", "60"], environment, 0.2)


def processor_ticks(pid: int) -> int:
    """User and system time, in clock ticks (usually 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
