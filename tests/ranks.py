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

from tests.support import limit
from workshop.mpi import openmpi
from workshop.placement import Placement

ROOT = Path(__file__).parent.parent


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
