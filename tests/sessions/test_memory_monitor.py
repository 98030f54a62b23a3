"""Real processes that take memory, with a small limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.control_groups import control_group, inside
from tests.support import limit, starts_processes, until
from workshop.sessions.memory_monitor import MemoryMonitor

MIB = 2**20
# Takes so many MiB when it reads a line, says so, and waits.
TAKE = (
    "import sys\nkept = []\n"
    "for line in sys.stdin:\n    kept.append(b'x' * (int(line) << 20))\n    print('taken', flush=True)\n"
)
Process = subprocess.Popen[str]


@pytest.fixture
@starts_processes
def processes() -> Iterator[list[Process]]:
    with ExitStack() as stack:
        started = [stack.enter_context(_takes()) for _ in range(2)]
        for process in started:
            stack.callback(process.kill)
        yield started


def _takes() -> Process:
    return subprocess.Popen([sys.executable, "-c", TAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def take(process: Process, mib: int) -> None:
    assert process.stdin is not None and process.stdout is not None, "they are pipes"
    print(mib, file=process.stdin, flush=True)
    assert process.stdout.readline() == "taken\n"


def test_who_takes_too_much_is_ended_with_all_others(processes: list[Process]) -> None:
    take(processes[0], 20)
    ranks = {rank: process.pid for rank, process in enumerate(processes)}
    with MemoryMonitor(ranks, 100 * MIB) as lookout:
        take(processes[1], 30)
        until(
            lambda: lookout.private_bytes and lookout.private_bytes[0] < lookout.private_bytes[1],
            20,
            "a look at what was taken",
        )
        assert lookout.found is None
        assert 0 < lookout.private_bytes[0] < lookout.private_bytes[1] < 60 * MIB
        assert [process.poll() for process in processes] == [None, None]
        assert processes[1].stdin is not None
        print(60, file=processes[1].stdin, flush=True)
        codes = [process.wait(limit(20)) for process in processes]
    assert codes == [-signal.SIGKILL] * 2
    assert lookout.found is not None and lookout.found.rank == 1
    assert "than WORKSHOP_MEMORY allows: rank 1 had most" in lookout.found.words
    assert lookout.killed(1) is None, "that was us, not the kernel"


IN_GROUP = """
import json, subprocess, sys, time
from workshop.sessions.memory_monitor import MemoryMonitor
take, mib = sys.argv[1:]
words = dict(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
rank = subprocess.Popen([sys.executable, "-c", take], **words)
with open(f"/proc/{rank.pid}/oom_score_adj", "w") as file:
    file.write("1000")
with MemoryMonitor({0: rank.pid}, None) as lookout:
    while lookout.private_bytes.get(0, 0) < 1 << 20:
        time.sleep(0.01)
    try:
        while True:
            print(mib, file=rank.stdin, flush=True)
            time.sleep(0.05)
    except OSError:
        code = rank.wait()
found = lookout.found or lookout.killed(0)
print(json.dumps([code, found.words]), flush=True)
"""


@pytest.mark.real
@pytest.mark.parametrize(
    ("mib", "says"),
    [
        (1, "the memory that "),  # slowly enough for a look to come in time
        (600, "the kernel of |the memory that "),  # whoever of the two is faster
    ],
)
def test_a_control_group_with_too_little(mib: int, says: str) -> None:
    with control_group(160 * MIB) as folder:
        command = inside(folder, [sys.executable, "-c", IN_GROUP, TAKE, str(mib)])
        told = subprocess.run(command, capture_output=True, text=True, timeout=limit(60))
    assert told.returncode == 0, told.stderr
    code, words = json.loads(told.stdout)
    assert code == -signal.SIGKILL
    assert words.startswith(tuple(says.split("|")))
    assert "rank 0, the only one, had " in words and " of 160 MiB; take a smaller batch" in words


def test_one_that_ends_by_itself_is_no_reason(processes: list[Process]) -> None:
    ranks = {rank: process.pid for rank, process in enumerate(processes)}
    with MemoryMonitor(ranks, 100 * MIB) as lookout:
        until(lambda: lookout.private_bytes, 20, "a look")
        os.kill(processes[0].pid, signal.SIGKILL)
        processes[0].wait()
        time.sleep(0.7)
        assert lookout.found is None
        assert lookout.killed(0) is None
        assert processes[1].poll() is None
