"""The same workload in a single process and under plain mpirun, without any session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

from tests.support import limit
from workshop.engine.context import Memory, RankContext
from workshop.mpi import openmpi


def test_a_world_of_one() -> None:
    sink = Memory()
    ctx = RankContext(MPI.COMM_SELF, sink, {"file": b"x"})
    assert (ctx.rank, ctx.size, ctx.inputs["file"]) == (0, 1, b"x")
    for step in range(2):
        with ctx.phase("compute"):
            sum(range(10_000))
        ctx.synchronise()
        ctx.end_step(step)
    ctx.progress(1, 2)
    ctx.artifact("a", b"data", "text/plain")
    named = [(name, step) for _, name, step, _ in sink.events]
    assert named == [("time.compute", 0), ("time.wait", 0), ("time.compute", 1), ("time.wait", 1)]
    assert sum(value for _, name, _, value in sink.events if name == "time.compute") == pytest.approx(
        ctx.phase_seconds["compute"]
    )
    assert sink.done == (1.0, 2.0)
    assert sink.artifacts == {"a": ("text/plain", b"data")}
    assert not ctx.stop_requested()
    sink.stop = True
    assert ctx.stop_requested()


def engine(*words: str, ranks: int | None = None) -> subprocess.CompletedProcess[str]:
    start = [openmpi.launcher(), "-n", str(ranks), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA] if ranks else []
    return subprocess.run(
        [*start, sys.executable, "-m", "workshop.engine", *words],
        env=os.environ | openmpi.environment(),
        capture_output=True,
        text=True,
        timeout=limit(90),
    )


@pytest.mark.real
@pytest.mark.parametrize("ranks", [None, 2])
def test_without_a_session(probe_workloads: None, tmp_path: Path, ranks: int | None) -> None:
    ended = engine("tell", "--events", "3", "--output", str(tmp_path / "out"), ranks=ranks)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert (answer["workload"], answer["ranks"]) == ("tell", ranks or 1)
    assert answer["metrics"]["told"] == 3 * (ranks or 1)
    assert answer["metrics"]["inputs"] == ["file"]
    assert len(answer["phase_seconds"]) == (ranks or 1)
    assert (tmp_path / "out/note.txt").read_text() == "told"
    for rank in range(ranks or 1):
        lines = [json.loads(line) for line in (tmp_path / f"out/events-{rank}.jsonl").read_text().splitlines()]
        assert [line["value"] for line in lines if line["name"] == "value"] == [rank, rank + 10, rank + 20]


@pytest.mark.real
def test_bad_input_without_a_session(probe_workloads: None) -> None:
    ended = engine("tell", "--events", "many", ranks=2)
    assert ended.returncode == 2
    assert ended.stderr.count("events is 'many'") == 1
    assert "Traceback" not in ended.stderr


@pytest.mark.real
def test_a_rank_that_fails_without_a_session_takes_the_world_with_it(probe_workloads: None) -> None:
    ended = engine("break", "--rank", "1", ranks=2)
    assert ended.returncode != 0
    assert "rank 1" in ended.stderr
    assert "ArithmeticError" in ended.stderr
