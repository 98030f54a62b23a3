"""The lines that a benchmark prints, of steps whose rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.engine.training.step_report import Totals
from workshop.workloads.resnet.lines import LINES, RULE

RATES = [12.0, 12.6, 11.7]
BLOCKS = [[2.0, 1.0], [4.0, 2.0]]  # seconds of rank 0's steps, by block


def totals(blocks: list[list[float]]) -> Totals:
    """Two ranks' steps of 8 images each. Rank 1 takes twice as long, and 1 s passes between the steps."""
    made = Totals()
    for seconds in blocks:
        both = np.array([seconds, [2 * second for second in seconds]])
        made.steps += len(seconds)
        made.seconds += float(both[1].sum())
        made.own_seconds.append(both)
        made.own_examples.append(np.full(both.shape, 8.0))
        made.step_losses.append(7 - np.array(seconds) / 8)
    made.seconds += 1
    made.examples = np.full(2, 8.0 * made.steps)
    return made


def test_lines_of_tf_cnn_benchmarks() -> None:
    lines = LINES["tf_cnn_benchmarks"]("ResNet50", 8, 2)
    assert lines.opening()[:3] == ["Model:       ResNet50", "Batch size:  16 global", "             8 per device"]
    # Rates of rank 0's steps: 4 and 8, then 2 and 4. Their medians are 6 and 4; the deviations from these 2, 2 and
    # 0, 4, 2, 0, whose medians are 2 and 1.
    assert lines.of_round([5.0], totals(BLOCKS[:1])) == [
        "1\timages/sec: 4.0 +/- 0.0 (jitter = 0.0)\t6.750",
        "2\timages/sec: 5.3 +/- 1.4 (jitter = 3.0)\t6.875",
    ]
    assert lines.of_round([5.0, 2.0], totals(BLOCKS)) == ["4\timages/sec: 3.6 +/- 1.1 (jitter = 1.5)\t6.750"]
    assert lines.closing([5.0, 2.0], totals(BLOCKS)) == [RULE, "total images/sec: 3.37", RULE]


def test_a_first_round_of_one_step_has_one_line() -> None:
    assert len(LINES["tf_cnn_benchmarks"]("ResNet50", 8, 2).of_round([5.0], totals([[2.0]]))) == 1


def test_lines_of_horovod_close_with_the_rounds_and_their_deviation() -> None:
    lines = LINES["horovod"]("ResNet50", 8, 2)
    assert lines.of_round(RATES, totals(BLOCKS)) == ["Iter #2: 11.7 img/sec per CPU"]
    assert lines.closing(RATES, totals(BLOCKS)) == [
        "Img/sec per CPU: 12.1 +-0.7",
        "Total img/sec on 2 CPU(s): 24.2 +-1.5",
    ]


@pytest.mark.parametrize("name", LINES)
def test_without_a_round_nothing_closes(name: str) -> None:
    assert LINES[name]("ResNet50", 8, 2).closing([], Totals()) == []
