"""The figure of what can be word_shares of masked updates holds the numbers that it was given."""

from __future__ import annotations

import pytest

from workshop.workloads.federated.report.figures import word_shares


def test_a_message_and_the_sum_stand_side_by_side():
    figure = word_shares([0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0])
    one, total = figure.data
    assert (one.name, total.name) == ("one masked update", "the sum of all")
    assert list(one.x) == list(total.x) == [-0.75, -0.25, 0.25, 0.75]
    assert (list(one.y), list(total.y)) == ([0.25] * 4, [0.0, 0.5, 0.5, 0.0])
    assert word_shares([1.0], [1.0], cancelled=False).data[1].name == "the weighted sum of all"


@pytest.mark.parametrize("given", [([], []), ([0.5, 0.5], [])])
def test_nothing_yet_says_so(given):
    assert word_shares(*given).layout.annotations[0].text.endswith("yet")
