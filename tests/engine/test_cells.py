"""The ranks' side of a cell, in a real kernel that is the only rank of its world."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.kernel import Cell, Kernel, kernel
from tests.notebook.sessions import state
from tests.support import starts_processes
from workshop.engine.cells import CLEAR, TEXT, WHERE

RUN = "from workshop.engine import cells\nprint('ended', cells.run({code!r}, '.'))"


@pytest.fixture(scope="module")
@starts_processes
def rank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with state(tmp_path_factory.mktemp("rank")), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_btl", "self")  # a world of one
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # with it ipykernel doesn't look at what commands print
        with kernel() as started:
            yield started


def run(rank: Kernel, code: str) -> tuple[str, Any, Cell]:
    """What a cell told as text, and what `run` returned."""
    cell = rank.cell(RUN.format(code=code))
    assert not cell.error, cell.error
    told = "".join(output.get(TEXT, "") for output in cell.outputs)
    (ended,) = re.findall(r"ended (.*)", cell.text)
    names: dict[str, Any] = {}
    exec(f"value = {ended}", names)
    return told, names["value"], cell


def test_names_are_there_and_stay(rank: Kernel) -> None:
    told, ended, _ = run(rank, "kept = (rank, size, comm.Get_size())\nfor rank in range(5): pass")
    assert (told, ended) == ("", None)
    told, ended, cell = run(rank, "print('half \\ud800')\nkept, rank")
    assert (told, ended) == ("half ?\n", None)
    assert "((0, 1, 1), 0)" in cell.text, "rank is its own again, and the last value is shown"


def test_all_ways_of_printing_arrive(rank: Kernel) -> None:
    c = "import ctypes; ctypes.CDLL(None).puts(b'three')"
    code = f"print('one')\n!echo two\n{c}\nimport sys; sys.stderr.write('four\\n')\n"
    told, ended, _ = run(rank, code)
    assert ended is None
    assert all(told.count(word) == 1 for word in ("one", "two", "three", "four")), told


def test_what_is_read_late_arrives_too(rank: Kernel) -> None:
    """On a crowded machine the thread that has read what a library printed waits for its turn to write it."""
    late = """
import ctypes, sys, threading, time
arrived = sys.stdout.write
def write(text):
    if threading.current_thread() is sys.stdout.watch_fd_thread:
        time.sleep(0.2)
    return arrived(text)
sys.stdout.write = write
ctypes.CDLL(None).puts(b'late')
"""
    assert run(rank, late)[:2] == ("late\n", None)
    assert run(rank, f"{late}display(3)")[:2] == ("late\n", None)


def test_errors_name_the_line(rank: Kernel) -> None:
    _, ended, _ = run(rank, "# first\ndef shard(n):\n    return n / 0\n")
    assert ended is None
    _, ended, _ = run(rank, "# first\nprint(1)\nshard(3)")
    assert (ended["type"], ended["message"]) == ("ZeroDivisionError", "division by zero")
    assert ended["where"] | {"cell": ""} == {
        "line": 3, "code": "return n / 0", "function": "shard", "cell": "", "earlier": True
    }  # fmt: skip
    assert "interactiveshell" not in ended["traceback"]
    _, ended, _ = run(rank, "# first\nx = = 3")
    assert (ended["type"], ended["where"]["line"], ended["where"]["code"]) == ("SyntaxError", 2, "x = = 3")
    _, ended, _ = run(rank, "raise ValueError('a' * 1000 + '\\n')")
    assert len(ended["message"]) == 300
    _, ended, _ = run(rank, "%no_such_magic")
    assert ended["type"] == "UsageError"


@pytest.mark.parametrize("code", ["exit()", "import sys; sys.exit(3)"])
def test_a_cell_can_t_end_its_rank(rank: Kernel, code: str) -> None:
    told, ended, _ = run(rank, code)
    assert ended["type"] == "SystemExit"
    assert "To exit" not in told
    assert run(rank, "print(3)")[0] == "3\n"


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    try:\n        print('x' * 1000)\n    except Exception:\n        pass",
        "import subprocess; subprocess.run(['yes'])",
        "while True: display({'text/html': 'x' * 1_000_000}, raw=True)",
    ],
)
def test_a_flood_is_stopped(rank: Kernel, code: str) -> None:
    told, ended, _ = run(rank, code)
    assert ended["type"] == "TooMuchOutput"
    assert ended["message"] in ("printed more than 2 MB", "showed more than 16 MB")
    assert len(told) <= 2 << 20
    assert run(rank, "print(3)")[0] == "3\n"


CHANGED = "('flush' in vars(__import__('sys').stdout), len(get_ipython().display_pub._hooks))"  # while a cell runs
# In a cell: interrupts its rank while that ends the cell, which it can't before somebody lets go of its lock.
PRESSER = """
import os, signal, sys, threading, time
from workshop.engine.cells import drain
telling, pressed = sys.stdout.flush.__self__, 0
def ends():
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code not in (type(telling).__exit__.__code__, drain.__code__):
        frame = frame.f_back
    return frame is not None
def press(held):
    global pressed
    with telling._lock:
        held.set()
        deadline = time.monotonic() + 20
        while pressed < 20 and time.monotonic() < deadline:
            if ends():
                os.kill(os.getpid(), signal.SIGINT)
                pressed += 1
            time.sleep(0.001)
held = threading.Event()
presser = threading.Thread(target=press, args=(held,))
presser.start()
begun = held.wait(20)
"""


@pytest.mark.parametrize("ends", ["", "1 / 0", "while True: os.kill(os.getpid(), signal.SIGINT)"])
def test_interrupts_at_the_end_of_a_cell_leave_nothing_behind(rank: Kernel, ends: str) -> None:
    for _ in range(2):
        _, ended, _ = run(rank, f"{PRESSER}\n{ends}")
        expected = {"": None, "1 / 0": "ZeroDivisionError"}.get(ends, "KeyboardInterrupt")
        assert (ended and ended["type"]) == expected
        told, ended, _ = run(rank, f"presser.join()\nprint(pressed, {CHANGED})")
        assert (told, ended) == ("20 (True, 1)\n", None)
        assert rank.cell(CHANGED).text == "(False, 0)"
        assert "".join(output["text/plain"] for output in rank.cell("print('plain')").outputs) == "plain\n"


def test_an_interrupt_before_the_code_is_not_lost(rank: Kernel) -> None:
    code = "import os, signal\nfrom workshop.engine import cells\nwith cells.CellOutput(get_ipython()) as telling:\n"
    code += "    os.kill(os.getpid(), signal.SIGINT)\n    ended = telling.during(print, 'never')\nended"
    cell = rank.cell(code)
    assert "KeyboardInterrupt()" in cell.text and "never" not in cell.text


def test_figures_updates_and_clearing_are_told(rank: Kernel) -> None:
    code = (
        "shown = display({'text/html': '<b>1</b>'}, raw=True, display_id='here')\n"
        "from IPython.display import clear_output, update_display\n"
        "update_display({'text/html': '<b>2</b>'}, raw=True, display_id='here')\nclear_output(wait=True)"
    )
    _, ended, cell = run(rank, code)
    assert ended is None
    assert [output["text/html"] for output in cell.outputs if "text/html" in output] == ["<b>1</b>", "<b>2</b>"]
    assert [output[CLEAR] for output in cell.outputs if CLEAR in output] == [True]


def test_where_a_rank_stays_is_told(rank: Kernel) -> None:
    _, ended, cell = run(rank, "import time\nprint('x')\ntime.sleep(1)")
    assert ended is None
    stays = [output[WHERE] for output in cell.outputs if WHERE in output]
    (where,) = [one for one in stays if one["line"] == 3]  # a rank that gets no turn may stay in another line before
    assert where["code"] == "time.sleep(1)"


def test_functions_are_called_with_the_names_of_cells(rank: Kernel, tmp_path: Path) -> None:
    run(rank, "answer = 42")
    (tmp_path / "asked_of_rank.py").write_text(
        "def look(names, more):\n    print('never seen')\n    return names['answer'] + more, names['size']\n"
    )
    call = "cells.call('asked_of_rank', 'look', ({more},))"
    said = rank.cell(f"import sys; sys.path.insert(0, {os.fspath(tmp_path)!r})\n{call.format(more=1)}")
    assert "{'value': (43, 1), 'error': None}" in said.text
    assert "never seen" not in said.text
    said = rank.cell(f"{call.format(more=[])}['error']['type']")
    assert said.text == "'TypeError'"
