"""CPU seconds of each test and of all processes that it starts: `pytest --cost FILE` (root on Linux, control groups).

One JSON document a line: test, cpu and wall seconds, worker, outcome. What a fixture that tests share costs counts for
the first of these tests.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/cpuacct")
V2 = Path("/sys/fs/cgroup")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cost", metavar="FILE", help="write the CPU seconds of each test and its processes to a file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--cost")
    if file and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Cost(Path(file)), "cost of tests")


class Cost:
    """A control group of this process and all that it starts, read before and after each test."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcome = "passed"
        unified = (V2 / "cgroup.controllers").exists()
        self._folder = (V2 if unified else V1) / f"workshop-cost-{os.getpid()}"
        self._usage = self._folder / ("cpu.stat" if unified else "cpuacct.usage")
        try:
            self._folder.mkdir()
            (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            raise pytest.UsageError(f"--cost needs control groups that this user may make: {error}") from error

    def _seconds(self) -> float:
        """CPU seconds of the group so far: v1 has nanoseconds, v2 microseconds on its first line."""
        words = self._usage.read_text().split()
        return int(words[1]) / 1e6 if words[0] == "usage_usec" else int(words[0]) / 1e9

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        cpu, wall, self._outcome = self._seconds(), time.monotonic(), "passed"
        try:
            return (yield)
        finally:
            found = {
                "test": item.nodeid,
                "cpu": round(self._seconds() - cpu, 3),
                "wall": round(time.monotonic() - wall, 3),
                "worker": os.environ.get("PYTEST_XDIST_WORKER", ""),
                "outcome": self._outcome,
            }
            with open(self._file, "a") as file:  # a line is written at once, so that workers share the file
                file.write(json.dumps(found) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._outcome = report.outcome

    def pytest_unconfigure(self) -> None:
        """Leave the group, which goes when its last process has ended."""
        (self._folder.parent / "cgroup.procs").write_text(str(os.getpid()))
        try:
            self._folder.rmdir()
        except OSError:  # a process that the run left is still in it
            return
