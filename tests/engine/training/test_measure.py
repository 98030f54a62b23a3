"""The arithmetic of steps' clocks, and of learning rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workshop.engine.training import step_report
from workshop.engine.training.optimizer import cooled, scaled, warmed_up

# Two ranks, three steps: begin, input, gradients, exchanged, updated.
MARKS = np.array(
    [
        [[0, 1, 5, 8, 9], [10, 11, 15, 16, 17], [20, 21, 25, 27, 28]],
        [[0, 1, 7, 8, 9], [10, 11, 14, 16, 17], [20, 21, 25, 27, 28]],
    ],
    float,
)


def test_a_transfer_is_hidden_while_its_rank_computes_gradients():
    assert step_report.hidden(MARKS, [[(2, 4)], [(5, 9)]]) == pytest.approx((2 + 2) / (2 + 4))
    assert step_report.hidden(MARKS, [[(5, 8)], [(14, 16)]]) == 0
    assert step_report.hidden(MARKS, [[], []]) is None


def test_what_a_rank_spends_in_an_exchange_beyond_the_last_one_is_waiting():
    parts = step_report.phases(MARKS)
    assert parts.communicate.tolist() == [[1, 1, 2], [1, 1, 2]]
    assert parts.wait.tolist() == [[2, 0, 0], [0, 1, 0]]
    assert parts.compute.tolist() == [[5, 5, 5], [7, 4, 5]]
    assert parts.input.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert parts.last[:2].tolist() == [1, 0]
    assert parts.late.tolist() == [2, 1, 0]


def test_clocks_of_two_hosts_may_differ():
    shifted = MARKS.copy()
    shifted[1] += 1234.5
    one, other = step_report.phases(MARKS), step_report.phases(shifted)
    np.testing.assert_allclose(one.wait, other.wait)
    assert one.last.tolist() == other.last.tolist()


def test_speed_is_what_tf_cnn_benchmarks_say():
    examples, seconds = np.array([100.0, 100, 100, 50]), np.array([1.0, 2, 1, 1])
    speed = step_report.speed(examples, seconds, 5.5)
    speeds = np.array([100, 50, 100, 50])
    assert speed.mean == pytest.approx(350 / 5.5)
    assert speed.deviation == pytest.approx(speeds.std() / 2)
    assert speed.jitter == pytest.approx(1.4826 * 25)
    assert step_report.speed(np.zeros(0), np.zeros(0), 0.0) is None


def test_rates():
    assert scaled(0.1, 4, "none") == 0.1
    assert scaled(0.1, 4, "linear") == pytest.approx(0.4)
    assert scaled(0.1, 4, "sqrt") == pytest.approx(0.2)
    assert [warmed_up(0.1, 0.4, 3, passed) for passed in (0, 1.5, 3, 9)] == pytest.approx([0.1, 0.25, 0.4, 0.4])
    assert warmed_up(0.1, 0.4, 0, 0) == 0.4
    assert math.isclose(warmed_up(0.2, 0.2, 2, 1), 0.2)
    assert [cooled(0.1, 0.5, passed) for passed in (0, 0.5, 0.75, 1)] == pytest.approx([0.1, 0.1, 0.05, 0])
