"""The workload: its params, plans, verdicts, panels, and a run on real ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.support import limit
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.study.grid import plan as grid
from workshop.study.trials import impossible
from workshop.workloads.parallel import WORKLOAD, ParallelParams, plan, schedules, settings
from workshop.workloads.parallel.schedules import SCHEDULES, idle_share, parse, simulate, written

SMALL = {"width": 16, "heads": 2, "blocks": 2, "length": 8, "batch": 8}


def params(**values: object) -> ParallelParams:
    checked = WORKLOAD.check({**SMALL, **values})
    assert isinstance(checked, ParallelParams)
    return checked


@pytest.mark.parametrize(
    ("values", "ranks", "words"),
    [
        ({"cut": "pipeline:3"}, 2, "a grid of 3 places, and there are 2 ranks"),
        ({"cut": "depth:2"}, 2, "'depth:2' is no part of a cut"),
        ({"cut": "tensor:2,spatial:2"}, 4, "divides layers in one way"),
        ({"cut": "tensor:4"}, 4, "2 heads can't be divided among 4 ranks"),
        ({"cut": "pipeline:8"}, 8, "7 layers can't be divided into 8 parts"),
        ({"cut": "spatial:2"}, 2, "can be cut by spatial"),
        ({"cut": "spatial:16", "network": "convolutional", "image": 8}, 16, "stripes of at least 1 row"),
        ({"cut": "experts:2"}, 2, "the network has none"),
        ({"cut": "pipeline:2", "zero": 1}, 2, "no ranks do"),
        (
            {"cut": "pipeline:2", "schedule": "own", "instructions": "F0 B0 / F0 X0"},
            2,
            "Stage 1 has the instruction 'X0'",
        ),
        (
            {"cut": "pipeline:2", "schedule": "own", "micro_batches": 2, "instructions": "F0 B0 F1 B1 / F0 F1 B0 B1"},
            2,
            "stage 0 waits at the receive .* and stage 1 waits at the receive",
        ),
        (
            {"cut": "pipeline:2", "schedule": "own", "micro_batches": 1, "instructions": "F0 W0 B0 / F0 B0 W0"},
            2,
            "Stage 0 has the weights of micro-batch 0 in part 0 before its backward",
        ),
        ({"cut": "pipeline:2", "layers": "3,3"}, 2, "the network has 7 layers"),
        ({"batch": 7}, 2, "A batch of 7 can't be divided into 2"),
        ({"cut": "pipeline:2", "schedule": "interleaved", "micro_batches": 1}, 2, "takes a multiple of 2"),
    ],
)
def test_cuts_that_cannot_be_made_are_refused_before_anything_runs(values: dict, ranks: int, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        settings.check(params(**values), ranks)


def test_params_that_do_not_fit_are_refused() -> None:
    for values, words in (
        ({"heads": 3}, "can't be divided into 3 heads"),
        ({"schedule": "own"}, "needs instructions"),
        ({"fault": "no-gather"}, "needs ZeRO 1 or 2"),
        ({"layers": "a,b"}, "numbers with commas"),
    ):
        with pytest.raises(BadInput, match=words):
            params(**values)


@pytest.mark.parametrize("name", sorted(set(SCHEDULES) - {"interleaved", "bidirectional"}))
def test_a_schedule_that_is_written_down_is_the_same_schedule(name: str) -> None:
    streams = SCHEDULES[name](3, 4)
    assert [list(stream) for stream in parse(written(streams), 3)] == [list(stream) for stream in streams]


def test_paced_schedules_take_the_same_time_if_they_put_gradients_of_weights_off() -> None:
    shared = {"cut": "pipeline:2", "micro_batches": 1, "pace": 0.5}
    by_name = settings.cut_of(params(schedule="zero-bubble", **shared), 2)
    by_hand = settings.cut_of(params(schedule="own", instructions="F0 B0 W0 / F0 B0 W0", **shared), 2)
    undivided = settings.cut_of(params(schedule="own", instructions="F0 B0 / F0 B0", **shared), 2)
    assert by_hand.pace == by_name.pace == {"forward": 0.5, "backward": 0.5, "weights": 0.5}
    assert undivided.pace["backward"] == 1


def test_a_timeline_survives_its_file() -> None:
    spans = simulate(SCHEDULES["gpipe"](2, 2), lambda work: {"forward": 1.0, "backward": 2.0}[work.kind])
    by_stage = {stage: [span for span in spans if span.stage == stage] for stage in range(2)}
    assert schedules.read(schedules.write(by_stage)) == by_stage
    assert idle_share(spans, 2) == pytest.approx(1 / 3)


def test_examples_are_the_same_on_all_ranks_and_apart_from_those_of_the_evaluation() -> None:
    codes, characters = settings.text()
    assert codes.max() == len(characters) - 1
    inputs, targets = settings.batch(params(), 3)
    assert np.array_equal(inputs[:, 1:], targets[:, :-1])
    activations, _ = settings.batch(params(), 3)
    assert np.array_equal(inputs, activations)
    images, labels = settings.batch(params(network="convolutional", image=16), 0)
    assert images.shape == (8, 16, 16, 1) and labels.max() < 10


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ({}, 1),
        ({}, 2),
        ({"cut": "pipeline:2"}, 2),
        ({"cut": "pipeline:3", "schedule": "bidirectional"}, 3),
        ({"cut": "tensor:2", "zero": 3}, 4),
        ({"zero": 2}, 2),
    ],
)
def test_a_plan_has_cards_without_any_rank(values: dict, ranks: int) -> None:
    cards = {card.name: card for card in plan.cards(params(**values), ranks)}
    assert set(cards) - {"plan-pipeline"} == {"parts", "plan-traffic", "plan-memory"}
    assert ("plan-pipeline" in cards) == ("pipeline" in values.get("cut", ""))


def test_a_plan_of_a_large_network_takes_no_memory() -> None:
    large = params(width=1024, heads=16, blocks=32, length=512, batch=64)
    ledgers = [training.planned_memory() for training in settings.plans(large, 2)]
    assert ledgers[0].total > 30e9


@pytest.mark.real
@pytest.mark.parametrize("cut", [["--cut", "pipeline:2", "--schedule", "gpipe"], ["--zero", "3"]], ids=" ".join)
def test_a_run_on_ranks_tells_exact_bytes_and_the_weights_of_one_process(cut: list[str]) -> None:
    words = [*cut, "--steps", "3", "--pace", "0.02", "--batch", "8", "--width", "16", "--length", "8"]
    command = [openmpi.launcher(), "-n", "2", "--oversubscribe", sys.executable, "-m", "workshop.engine", "parallel"]
    environment = os.environ | openmpi.environment() | {"OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    ended = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, timeout=limit(120))
    assert ended.returncode == 0, ended.stderr[-2000:]
    metrics = json.loads(ended.stdout)["metrics"]
    assert metrics["bytes_difference"] == metrics["calls_difference"] == 0
    assert metrics["weights_difference"] < 1e-9
    if "--cut" in cut:
        assert 0 < metrics["expected_idle"] < 1 and 0 < metrics["idle"] < 1
        assert min(metrics["rank_seconds"]) >= 0.06, "forward and backward"
    assert metrics["last_loss"] < metrics["first_loss"]


def test_a_study_over_cuts_has_a_cell_for_each() -> None:
    cuts = ["data:2", "tensor:2", "pipeline:2"]
    study = grid.plan(WORKLOAD, {"cut": cuts}, {"steps": 2, "verify": False}, Placement(ranks=2))
    assert [cell.params["cut"] for cell in study.cells] == cuts
    assert not any(impossible(trial) for trial in study.trials())
