"""A disk that is full: a run on it ends with a sentence, the session goes on, and no process is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import limit, need

pytestmark = pytest.mark.real
DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def on_a_small_disk(folder: Path, size: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a WORKSHOP_HOME on a disk of that size, which nobody else sees."""
    user = ["--user", "--map-root-user"] if os.geteuid() else []
    words = ["unshare", *user, "--mount", "sh", "-c", DISK, "sh", size, str(folder)]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, timeout=limit(10))
    need(tried.returncode == 0, f"a file system of one's own, in a name space: {tried.stderr.strip()}")
    environment = {**os.environ, "WORKSHOP_HOME": str(folder)}
    environment.pop("WORKSHOP_DATABASE_URL", None)
    return subprocess.run(
        [*words, *command], capture_output=True, text=True, env=environment, timeout=limit(150), check=False
    )


def test_a_disk_that_fills_up_ends_the_run_and_not_the_session(tmp_path: Path) -> None:
    ended = on_a_small_disk(tmp_path, "32m", sys.executable, "-m", "tests.sessions.full_disk_program")
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout.splitlines()[-1])
    where = f"There is no room left in {tmp_path}"
    assert result["refused"].startswith(f"{where}: a session needs 16.0 MiB there, and "), result
    full = result["full"]
    assert (full["status"], full["error"]["type"]) == ("failed", "NoRoom"), full
    assert "no room left" in full["error"]["message"] and str(tmp_path) in full["error"]["message"]
    assert full["verdict"]["verdict"] == "There is no room left on the disk."
    assert result["after"]["status"] == "completed", result["after"]


def test_a_small_disk_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    ended = on_a_small_disk(
        tmp_path, "1m", str(Path(sys.executable).with_name("workshop")), "run", "kmeans", "--clusters", "4"
    )
    assert ended.returncode == 1, ended.stdout
    assert "no room left" in ended.stderr and str(tmp_path) in ended.stderr and "Traceback" not in ended.stderr
