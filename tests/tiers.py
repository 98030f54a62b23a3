"""How the suite is divided: tests with processes, the exhaustive ones, and what may run at the same time.

- `real`: a test that starts a process, itself or by a fixture. A `real` test that fails is repeated once, since a
  process may be hit by what else the machine does. A test without the marker that starts a process fails.
- `exhaustive`: a test that `make test` leaves out, unless a file changed that it depends on; `make test-all` runs it.

Of several workers, one runs all real tests that need something that the machine has once: `MACHINE`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import affected

TESTS = Path(__file__).parent
# Files and folders whose real tests measure, or make hosts, control groups and Slurm's nodes.
MACHINE = (
    "benchmarks",
    "browser/test_studies.py",
    "browser/test_tuning.py",
    "cli/test_demo.py",
    "cli/test_study",
    "cli/emulation",
    "labs/test_notebooks.py",
    "sessions/launchers/test_ssh.py",
    "sessions/test_memory_monitor.py",
    "sessions/test_out_of_memory.py",
    "sessions/test_preflight.py",
    "sessions/launchers/test_slurm_site",
    "study",
    "workloads/federated/study",
    "cli/test_doctor.py",
    "core/test_memory.py",
    "web/test_study_processes.py",
)
GROUP = "machine"
SHARING = ("workloads/openfl",)  # folders whose files look at the same runs of ranks (tests/ranks.py)
# Audit events of a process that starts, and where among their arguments the command is.
STARTS = {"subprocess.Popen": 1, "os.posix_spawn": 0, "os.fork": None, "os.forkpty": None}
# Short questions that start nothing: what libraries ask of the machine, and what the mapper is asked. A process keeps
# the answers, so that the order of tests decides which of them asks.
QUESTIONS = ("lscpu", "uname", "pandoc", "--do-not-launch")

_started: list[str] = []


def _note_start(event: str, arguments: tuple[Any, ...]) -> None:
    if event in STARTS:
        index = STARTS[event]
        command = event if index is None else arguments[index]
        words = [command] if isinstance(command, str) else [str(word) for word in command]
        if not set(QUESTIONS) & set(words):
            _started.append(str(command)[:200])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--changed", action="store_true", help="run those exhaustive tests that a changed file can affect")


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_note_start)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; tests send it to programs
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects, and before xdist names the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    changed = affected.tests_of_changes() if config.getoption("--changed") else frozenset()
    for item in items:
        if _fixtures_start_processes(item):
            item.add_marker("real")
        if item.get_closest_marker("real"):
            item.add_marker(pytest.mark.flaky(reruns=1))
            if _file(item).removeprefix("tests/").startswith(MACHINE):
                item.add_marker(pytest.mark.xdist_group(GROUP))
        if _file(item) in changed:
            item.add_marker("changed")
    # The one chain of tests that need the machine takes longest, so it comes first.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _fixtures_start_processes(item: pytest.Item) -> bool:
    fixtures = getattr(item, "_fixtureinfo", None)
    known = fixtures.name2fixturedefs.values() if fixtures else ()
    return any(getattr(definitions[-1].func, "starts_processes", False) for definitions in known)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    result = yield
    if _started and not item.get_closest_marker("real"):
        pytest.fail(
            f"The test starts a process ({_started[0]}): mark it `real`, or its fixture with `starts_processes`."
        )
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _started.clear()
    if getattr(item, "execution_count", 1) > 1:  # what the first attempt has left in its module's fixtures is unknown
        fixtures = getattr(item, "_fixtureinfo", None)
        for definitions in fixtures.name2fixturedefs.values() if fixtures else ():
            for one in definitions:
                if one.scope == "module":
                    one.finish(item._request)


def group_of(nodeid: str) -> str:
    """Which tests one worker runs together: all that need the machine, a folder that shares ranks' runs, or a file."""
    if nodeid.endswith(f"@{GROUP}"):
        return GROUP
    file = nodeid.partition("::")[0].removeprefix(f"{TESTS.name}/")
    return next((folder for folder in SHARING if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Shares tests out by `group_of`."""

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)
