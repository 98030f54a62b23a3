"""The benchmark on two real ranks: one network on all ranks, the rounds' lines and rates, the update."""

from __future__ import annotations

import json
import re
import statistics

import pytest

from tests.ranks import run_ranks
from tests.support import need, starts_processes
from workshop.mpi import horovod

pytestmark = pytest.mark.real

WARMUP = 3  # steps, which are numbered from 0
ROUNDED = 1e-3  # relative to the update; the weights are float32 and much larger than it, and they are rounded


@pytest.fixture(scope="module")
@starts_processes
def program():
    need(horovod.built(), "Horovod is not built here")
    return run_ranks("tests.workloads.resnet.ranks_program", 2)


def test_all_ranks_hold_one_network(program):
    metrics = program["run"]["metrics"]
    assert metrics["exchange"] == "horovod"
    assert len(metrics["weights"]) == 2 and len(set(metrics["weights"])) == 1
    assert metrics["bytes_per_step"] == 4 * 3_504_872, "all weights of MobileNetV2 that are trained"
    assert not metrics["diverged"]


def test_the_warm_up_is_not_measured(program):
    metrics = program["run"]["metrics"]
    assert (metrics["updates"], metrics["measured_steps"]) == (5, 2)
    assert len(metrics["round_rates"]) == 2
    # Each of the two steps is a round, so that the rounds' harmonic mean is the rate of all steps.
    harmonic = 2 / sum(1 / rate for rate in metrics["round_rates"])
    assert metrics["images_per_second"] == pytest.approx(2 * harmonic)


def test_the_timeline_is_that_of_the_warm_up(program):
    events = json.loads(program["run"]["artifacts"]["timeline.json"])["traceEvents"]
    steps = {event["args"]["step"] for event in events if "step" in event.get("args", {})}
    assert steps == {2}, "the first two steps compile, and the rounds begin with step 3"


def test_lines_are_printed_as_the_source_prints_them(program):
    run = program["run"]
    first, second = run["metrics"]["round_rates"]
    lines = run["artifacts"]["output.txt"].splitlines()
    assert lines[:3] == ["Model: MobileNetV2", "Batch size: 2", "Number of CPUs: 2"]
    assert lines[3:] == [
        f"Iter #0: {first:.1f} img/sec per CPU",
        f"Iter #1: {second:.1f} img/sec per CPU",
        f"Img/sec per CPU: {(first + second) / 2:.1f} +-{1.96 * abs(first - second) / 2:.1f}",
        f"Total img/sec on 2 CPU(s): {first + second:.1f} +-{1.96 * abs(first - second):.1f}",
    ]
    assert run["activities"][-2:] == lines[3:5]


def test_lines_of_tf_cnn_benchmarks_are_of_the_measured_steps(program):
    run = program["tf_cnn"]
    lines = run["artifacts"]["output.txt"].splitlines()
    assert lines[5] == "Step\tImg/sec\ttotal_loss"
    rates, losses = ({int(step): value for step, value in run["told"][name].items()} for name in ("images/s", "loss"))
    measured = [rates[step] for step in sorted(rates)]
    assert len(measured) == 4, "the warm-up isn't measured"
    for line, steps in zip(lines[6:9], (1, 2, 4), strict=True):
        so_far = measured[:steps]
        mean, deviation = statistics.harmonic_mean(so_far), statistics.pstdev(so_far) / steps**0.5
        middle = statistics.median(so_far)
        jitter = 1.4826 * statistics.median(abs(rate - middle) for rate in so_far)
        loss = losses[WARMUP + steps - 1]
        values = re.fullmatch(
            r"(\d+)\timages/sec: ([\d.]+) \+/- ([\d.]+) \(jitter = ([\d.]+)\)\t([\d.]+)", line
        ).groups()
        assert [float(value) for value in values] == pytest.approx([steps, mean, deviation, jitter, loss], abs=0.051)
    assert lines[9:] == ["-" * 64, f"total images/sec: {run['metrics']['images_per_second']:.2f}", "-" * 64]
    assert run["activities"][-2:] == [lines[7], lines[8]]


def test_two_ranks_update_like_one_process_with_both_batches(program):
    step = program["step"]
    assert len(set(step["weights"])) == 1
    assert step["difference"] < ROUNDED
