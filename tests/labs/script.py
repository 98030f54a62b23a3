"""A lab's script as a learner runs it: under mpirun and by itself, without anything of ours."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import limit
from workshop.core import topology
from workshop.core.placement import THREAD_VARIABLES, Placement
from workshop.mpi import openmpi

# Runs a script once for each line of words, in one process: importing TensorFlow takes seconds.
REPEATED = """
import json, runpy, sys
script, cases = sys.argv[1:]
for words in json.loads(cases):
    sys.argv[1:] = words
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code
    print(f"<{code}>", file=sys.stderr, flush=True)
"""


def run(script: Path, *words: str, ranks: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script on so many ranks, each on a core where there are enough; 0: without mpirun."""
    started = []
    if ranks:
        cores = topology.allowed_cores(topology.machine())
        started = [openmpi.launcher(), "-n", str(ranks), *openmpi.arguments(Placement(ranks=ranks), cores)]
    plain = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    return subprocess.run(
        [*started, sys.executable, str(script), *words],
        capture_output=True,
        text=True,
        timeout=limit(150),
        env=plain | openmpi.environment() | variables,
    )


def answer(ended: subprocess.CompletedProcess[str]) -> dict:
    """What it says in JSON."""
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


def refused(script: Path, cases: dict[tuple[str, ...], str]) -> None:
    """See that a script ends each of these calls in a sentence that has these words."""
    words = json.dumps([list(given) for given in cases])
    ended = subprocess.run(
        [sys.executable, "-c", REPEATED, str(script), words], capture_output=True, text=True, timeout=limit(100)
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    told = ended.stderr.split("<2>\n")
    assert len(told) == len(cases) + 1, ended.stderr
    for (given, said), text in zip(cases.items(), told, strict=False):
        last = text.splitlines()[-1]
        assert said in last, (given, last)
        assert not last.endswith(": "), "it says why"


def imports(script: Path) -> set[str]:
    """The packages that a script imports, wherever in it."""
    return {
        name.split(".")[0]
        for node in ast.walk(ast.parse(script.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
