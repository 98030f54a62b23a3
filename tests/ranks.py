"""Programs under mpirun: a module that writes JSON into the file that it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support import limit
from workshop.core.placement import Placement
from workshop.mpi import openmpi

ROOT = Path(__file__).parent.parent


def by_ranks(*ranks: int) -> list[Any]:
    """Params of a fixture: two ranks are what `make test` runs, other numbers of ranks are exhaustive."""
    return [pytest.param(number, marks=[pytest.mark.exhaustive] if number != 2 else []) for number in ranks]


@cache
def run_ranks(module: str, ranks: int, *words: str, seconds: float = 240) -> dict[str, Any]:
    """What a module's rank 0 wrote, run once for all tests that ask for the same."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        command = [openmpi.launcher(), "-n", str(ranks), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
        done = subprocess.run(
            [*command, sys.executable, "-m", module, str(output), *words],
            cwd=ROOT,
            env=os.environ | openmpi.environment() | Placement().rank_environment(),
            capture_output=True,
            text=True,
            timeout=limit(seconds),
        )
        assert done.returncode == 0, done.stderr
        return json.loads(output.read_text())
