"""Cuts on real ranks: the weights are those of one process, and the bytes those of the formulas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import limit
from workshop.mpi import openmpi

HERE = Path(__file__).parent
CUTS: list[dict[str, Any]] = [
    {"grid": ""},
    {"grid": "", "exchange": "per-tensor"},
    {"grid": "", "exchange": "buckets", "bucket": 4000},
    {"grid": "", "micro_batches": 2},
    *({"grid": "", "zero": stage} for stage in (1, 2, 3)),
    {"grid": "tensor:2"},
    *(
        {"grid": "pipeline:2", "micro_batches": 4, "schedule": name}
        for name in ("naive", "gpipe", "1f1b", "zero-bubble")
    ),
    {"grid": "pipeline:2", "micro_batches": 4, "schedule": "interleaved", "zero": 2},
]
ON_FOUR: list[dict[str, Any]] = [
    {"grid": "pipeline:2,tensor:2", "micro_batches": 4},
    {"grid": "data:2,tensor:2", "zero": 3},
    {"grid": "tensor:4"},
    {"grid": "pipeline:4", "micro_batches": 8},
]


def run(ranks: int, program: str, *arguments: str) -> list[dict[str, Any]]:
    command = [openmpi.launcher(), "-n", str(ranks), "--oversubscribe", sys.executable, str(HERE / program), *arguments]
    environment = openmpi.environment() | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=limit(120))
    assert ended.returncode == 0, ended.stderr[-2000:]
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_cut_ends_with_the_weights_of_one_process(ranks: int) -> None:
    cuts = [*CUTS, *(ON_FOUR if ranks == 4 else [])]
    answers = run(ranks, "exactness.py", json.dumps(cuts))
    assert len(answers) == len(cuts)
    for cut, answer in zip(cuts, answers, strict=True):
        assert answer["worst"] < 1e-9, cut
        assert (answer["different"], answer["missing"]) == (0, []), cut


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 4])
def test_stripes_and_experts_compute_what_one_process_computes(ranks: int) -> None:
    (answer,) = run(ranks, "layers_program.py")
    assert answer["stripes"] < 1e-12 and answer["experts"] < 1e-12
    assert answer["calls"] == 4, "there and back, forward and backward"
