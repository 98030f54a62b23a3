"""What a failed test says beside its error: which processes of its state folder live, and the ends of their logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

LINES = 20  # of each log
LOGS = 6  # the newest ones


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    report = yield
    home = os.environ.get("WORKSHOP_HOME", "")
    if report.failed and home and item.get_closest_marker("real"):
        report.sections.append((f"processes and logs of {home}", evidence(Path(home))))
    return report


def evidence(home: Path) -> str:
    """The processes that work with a state folder, one a line, and the last lines of the newest logs in it."""
    lines = [_described(process) for process in psutil.process_iter() if _works_with(process, home)]
    logs = sorted(home.rglob("*.log"), key=_changed, reverse=True) if home.is_dir() else []
    for log in logs[:LOGS]:
        lines.append(f"--- {log.relative_to(home)}")
        lines += _last_lines(log)
    return "\n".join(lines) or "no process, no log"


def _works_with(process: psutil.Process, home: Path) -> bool:
    try:
        return process.environ().get("WORKSHOP_HOME") == str(home) and process.pid != os.getpid()
    except (psutil.Error, OSError):
        return False


def _described(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline())[:120]
        return f"process {process.pid} of {process.ppid()}, {process.status()}: {command}"
    except psutil.Error:
        return f"process {process.pid} has just ended"


def _changed(log: Path) -> float:
    try:
        return log.stat().st_mtime
    except OSError:
        return 0.0


def _last_lines(log: Path) -> list[str]:
    try:
        return log.read_text(errors="replace").splitlines()[-LINES:]
    except OSError as error:
        return [str(error)]
