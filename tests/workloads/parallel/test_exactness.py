"""Cuts on real ranks: the weights are those of one process, and the bytes those of the formulas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support import limit
from workshop.core.errors import BadInput
from workshop.mpi import openmpi
from workshop.workloads.parallel import ParallelParams
from workshop.workloads.parallel.schedules import SCHEDULES
from workshop.workloads.parallel.settings import check

HERE = Path(__file__).parent
CUTS: list[dict[str, Any]] = [
    {"grid": ""},
    {"grid": "", "exchange": "per-tensor"},
    {"grid": "", "exchange": "buckets", "bucket": 4000, "micro_batches": 2},
    *({"grid": "", "zero": stage} for stage in (1, 2, 3)),
    {"grid": "tensor:2"},
    {"grid": "sequence:2"},
    {"grid": "tensor:2", "network": "perceptron"},
    {"grid": "channel:2", "network": "convolutional"},
    {"grid": "spatial:2", "network": "convolutional"},
    {"grid": "experts:2", "network": "experts"},
    {"grid": "", "recompute": True},
    *({"grid": "pipeline:2", "micro_batches": 4, "schedule": name} for name in SCHEDULES),
]
HYBRIDS: list[dict[str, Any]] = [
    {"grid": "pipeline:2,tensor:2", "micro_batches": 4, "schedule": "interleaved"},
    {"grid": "data:2,tensor:2", "zero": 3},
    {"grid": "data:2,sequence:2", "zero": 2},
    {"grid": "data:2,spatial:2", "zero": 3, "network": "convolutional"},
    {"grid": "pipeline:2,spatial:2", "micro_batches": 2, "network": "convolutional"},
    {"grid": "data:2,experts:2", "network": "experts", "zero": 1},
    {"grid": "data:2,pipeline:2", "micro_batches": 4, "zero": 1},
    {"grid": "data:2,pipeline:2", "micro_batches": 2, "zero": 3, "recompute": True},
    {"grid": "pipeline:4", "network": "perceptron", "layers": [1, 1, 2, 1]},  # a stage has no weights
    {"grid": "tensor:4"},
    {"grid": "pipeline:4", "micro_batches": 8, "schedule": "zero-bubble"},
    {"grid": "pipeline:4", "micro_batches": 8, "schedule": "bidirectional", "exchange": "buckets", "bucket": 4000},
    {"grid": "data:2,pipeline:2", "micro_batches": 2, "schedule": "bidirectional", "zero": 3, "recompute": True},
    {"grid": "pipeline:2,spatial:2", "micro_batches": 4, "schedule": "bidirectional", "network": "convolutional"},
]
# The stage in the middle has the same part for both replicas.
THREE: list[dict[str, Any]] = [
    {"grid": "pipeline:3", "micro_batches": 4, "schedule": "bidirectional"},
]


def run(ranks: int, program: str, *arguments: str) -> list[list[dict[str, Any]]]:
    command = [openmpi.launcher(), "-n", str(ranks), "--oversubscribe", sys.executable]
    command += ["-m", "mpi4py", str(HERE / program), *arguments]  # which ends all ranks when one raises
    environment = openmpi.environment() | {"OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=limit(120))
    assert ended.returncode == 0, ended.stderr[-2000:]
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("[")]


@pytest.mark.real
@pytest.mark.parametrize(("ranks", "cuts"), [(2, CUTS), (3, THREE), (4, HYBRIDS)], ids=["two", "three", "four"])
def test_every_cut_ends_with_the_weights_of_one_process(ranks: int, cuts: list[dict[str, Any]]) -> None:
    answers = run(ranks, "exactness.py", json.dumps(cuts))
    assert len(answers) == len(cuts)
    for cut, of_ranks in zip(cuts, answers, strict=True):
        for answer in of_ranks:
            assert answer["worst"] < 1e-9, cut
            assert answer["same traffic"], (cut, answer["counted"], answer["expected"])
            for use, planned in answer["planned"].items():
                assert planned == pytest.approx(answer["held"][use], rel=0.05), (cut, use)


KINDS = {
    "transformer": ("tensor", "sequence", "experts"),
    "perceptron": ("tensor",),
    "convolutional": ("channel", "spatial"),
}


@st.composite
def params(draw: st.DrawFn, ranks: int) -> dict[str, Any]:
    """Any network, grid and schedule that go together on so many ranks."""
    network = draw(st.sampled_from(sorted(KINDS)))
    kind = draw(st.sampled_from(KINDS[network]))
    pipeline = draw(st.sampled_from([size for size in (1, 2, 4) if ranks % size == 0]))
    layer = draw(st.sampled_from([size for size in (1, 2, 4) if (ranks // pipeline) % size == 0]))
    heads = draw(st.sampled_from((1, 2, 4)))
    return {
        "network": network,
        "cut": f"pipeline:{pipeline},{kind}:{layer}",
        "schedule": draw(st.sampled_from(list(SCHEDULES))),
        "micro_batches": draw(st.sampled_from((1, 2, 4))),
        "zero": draw(st.integers(0, 3)),
        "recompute": draw(st.booleans()),
        "exchange": draw(st.sampled_from(("per-tensor", "fused", "buckets"))),
        "bucket": draw(st.integers(100, 5000)),
        "width": 4 * heads * draw(st.integers(1, 2)),
        "heads": heads,
        "blocks": draw(st.integers(1, 4)),
        "length": 4 * draw(st.integers(1, 3)),
        "experts": draw(st.sampled_from((2, 4))) if kind == "experts" else 0,
        "image": 8 * draw(st.integers(1, 2)),
        "batch": 16,
        "steps": 4,
        "seed": draw(st.integers(0, 99)),
    }


def possible(ranks: int, values: dict[str, Any]) -> bool:
    try:
        check(ParallelParams(**values), ranks)
    except (BadInput, ValueError):
        return False
    return True


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 4])
@settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], derandomize=True
)
@given(data=st.data())
def test_any_network_grid_and_schedule_hold(ranks: int, data: st.DataObject) -> None:
    """Sixteen settings for each start of the ranks, which takes longer than the trainings."""
    drawn = [data.draw(params(ranks).filter(lambda values: possible(ranks, values))) for _ in range(16)]
    answers = run(ranks, "exactness.py", json.dumps([{"params": values} for values in drawn]))
    for values, of_ranks in zip(drawn, answers, strict=True):
        for answer in of_ranks:
            assert answer["worst"] < 1e-9, values
            assert answer["same traffic"], (values, answer["counted"], answer["expected"])
            assert sum(answer["planned"].values()) == pytest.approx(sum(answer["held"].values()), rel=0.05), values
