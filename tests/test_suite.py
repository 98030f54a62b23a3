"""The suite itself: its tiers reach the whole package, limits grow with the load, nothing outlives a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests import affected, reach, tiers, watchdog
from tests.support import PATIENCE, limit, until

pytest_plugins = ["pytester"]
ROOT = affected.ROOT
FILES = sorted((ROOT / "tests").rglob("test_*.py"))


def test_the_first_tier_reaches_every_module() -> None:
    files = [file.relative_to(ROOT).as_posix() for file in FILES if reach.first_tier(file)]
    modules = {module for module in affected.imports().modules if module.partition(".")[0] == reach.PACKAGE}
    entries = reach.entry_points(ROOT / "pyproject.toml")
    assert entries <= modules
    assert modules - reach.reached(files) == set()


def test_a_module_that_nothing_names_is_not_reached() -> None:
    assert "workshop.core.errors" in reach.reached(["tests/core/test_errors.py"])
    assert "workshop.web.code_form" not in reach.reached(["tests/core/test_errors.py"])


def test_a_program_is_reached_by_its_name() -> None:
    """No test imports the conductor: a session starts it as a program."""
    assert "workshop.sessions.conductor" in reach.reached(["tests/sessions/test_session.py"])


@pytest.mark.parametrize(
    ("source", "first"),
    [
        ("def test_a(): ...", True),
        ("import pytest\npytestmark = pytest.mark.exhaustive\ndef test_a(): ...", False),
        ("import pytest\npytestmark = [pytest.mark.real, pytest.mark.exhaustive]\ndef test_a(): ...", False),
        ("import pytest\n@pytest.mark.exhaustive\ndef test_a(): ...", False),
        ("import pytest\n@pytest.mark.exhaustive\ndef test_a(): ...\ndef test_b(): ...", True),
    ],
)
def test_which_files_are_of_the_first_tier(source: str, first: bool, tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(source)
    assert reach.first_tier(file) is first


@pytest.mark.parametrize(
    ("changed", "test", "concerned"),
    [
        ("workshop/quiz/deck.py", "tests/quiz/test_deck.py", True),  # imports it
        ("workshop/sessions/conductor.py", "tests/sessions/test_session.py", True),  # the folder that mirrors it
        ("workshop/quiz/deck.py", "tests/core/test_errors.py", False),
        ("workshop/web/pages/live/cards.js", "tests/app/test_pages.py", True),
        ("workshop/workloads/federated/page.py", "tests/app/test_federated.py", True),
        ("README.md", "tests/core/test_errors.py", False),
    ],
)
def test_which_tests_a_changed_file_affects(changed: str, test: str, concerned: bool) -> None:
    assert (ROOT / changed).exists()
    assert (ROOT / test).exists()
    assert affected.affected([changed], [test]) == (frozenset([test]) if concerned else frozenset())


def test_no_limit_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATIENCE, "3")
    assert limit(1) == 60
    assert limit(100) == 300


def test_what_stays_together() -> None:
    assert tiers.group_of("tests/web/test_auth.py::test_a") == "web/test_auth.py"
    assert tiers.group_of("tests/cli/emulation/test_hosts.py::test_a[1]@machine") == "machine"
    assert tiers.group_of("tests/workloads/openfl/test_session.py::test_a") == "workloads/openfl"


SAMPLE = """
import subprocess, pytest
runs = []

@pytest.fixture(scope="module")
def table():
    return []

@pytest.mark.real
def test_fails_once(table):
    subprocess.run(["true"])
    runs.append(1)
    table.append(1)
    assert len(runs) > 1, "the first failure"
    assert len(table) == 1, "the first attempt left something"

def test_is_never_repeated():
    runs.append(1)
    assert len(runs) > 3

def test_forgets_its_marker():
    subprocess.run(["true"])
"""


@pytest.mark.real
def test_real_tests_are_repeated_and_others_start_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SAMPLE)
    pytester.makeini("[pytest]\nmarkers =\n    real\n    exhaustive\n    changed\n")
    pytester.syspathinsert(ROOT)
    options = ("-p", "tests.tiers", "--max-suite-reruns", "3", "--rerun-show-tracebacks")
    done = pytester.runpytest_subprocess(*options, timeout=limit(60))
    assert done.parseoutcomes() == {"passed": 1, "failed": 2, "rerun": 1}
    done.stdout.fnmatch_lines(["*The test starts a process*mark it `real`*"])
    done.stdout.fnmatch_lines(["*AssertionError: the first failure*"])


@pytest.mark.real
def test_programs_heed_ctrl_c_also_in_the_background_of_a_shell(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import signal, subprocess, sys, pytest\n"
        "SAYS = 'import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'\n"
        "@pytest.mark.real\n"
        "def test_heeds():\n"
        "    assert subprocess.check_output([sys.executable, '-c', SAYS]) == b'True\\n'\n"
    )
    pytester.makeini("[pytest]\nmarkers =\n    real\n    exhaustive\n    changed\n")
    pytester.syspathinsert(ROOT)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = pytester.runpytest_subprocess("-p", "tests.tiers", "--max-suite-reruns", "3", timeout=limit(60))
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.parseoutcomes() == {"passed": 1}


@pytest.mark.real
def test_nothing_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program = (
        "import subprocess, sys, time\n"
        "from tests import watchdog\n"
        "watchdog.start()\n"
        "folder = watchdog.temporary_folder('suite')\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"open({str(said)!r}, 'w').write(f'{{child.pid}} {{folder}} ')\n"
        "time.sleep(600)\n"
    )
    variables = {name: value for name, value in os.environ.items() if name != watchdog.TAG}
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=variables) as run:
        until(lambda: said.exists() and said.read_text().endswith(" "), 20, "the run to start a process")
        child, folder = said.read_text().split()
        run.send_signal(signal.SIGKILL)
    until(lambda: not psutil.pid_exists(int(child)), 30, "the process to be ended")
    until(lambda: not Path(folder).exists(), 30, "the folder to be removed")
