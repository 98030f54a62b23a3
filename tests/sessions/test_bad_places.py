"""No shared memory, and a home that can't be written: doctor and a start say the same sentence."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.hosts import WORKSHOP
from tests.support import limit, need
from workshop.core import environment

pytestmark = pytest.mark.real
READ_ONLY = 'mount -t tmpfs -o ro tmpfs "$1" && shift && exec "$@"'


def said(place: str, home: Path, *words: str) -> str:
    """What a command says where nothing can be written to a place, which nobody else sees so."""
    user = ["--user", "--map-root-user"] if os.geteuid() else []
    command = ["unshare", *user, "--mount", "sh", "-c", READ_ONLY, "sh", place]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=limit(10))
    need(tried.returncode == 0, f"a file system of one's own, in a name space: {tried.stderr.strip()}")
    variables = {**os.environ, "WORKSHOP_HOME": str(home)}
    variables.pop("WORKSHOP_DATABASE_URL", None)
    ended = subprocess.run(
        [*command, *WORKSHOP, *words], capture_output=True, text=True, env=variables, timeout=limit(90)
    )
    if words[0] != "doctor":
        assert (ended.returncode, ended.stdout) == (2, "")
        return ended.stderr.strip()
    assert ended.returncode in (0, 1, 2) and ended.stdout, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(
    ("place", "check"), [(str(environment.SHARED_MEMORY), "Shared memory"), ("home", "State folder")]
)
def test_doctor_and_a_start_say_the_same(place: str, check: str, tmp_path: Path) -> None:
    place = str(tmp_path) if place == "home" else place
    checks = json.loads(said(place, tmp_path, "doctor", "--json"))["checks"]
    assert next(entry["ok"] for entry in checks if entry["name"] == "MPI"), "Open MPI needs neither"
    fix = next(entry["fix"] for entry in checks if entry["name"] == check)
    assert place in fix and "can't be written" in fix
    for words in (["session", "start", "--mpi", "mpich"], ["up", "--mpi", "mpich"]):
        assert " ".join(said(place, tmp_path, *words).split()) == fix
