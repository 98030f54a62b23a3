"""Patterns and formulas of messages between ranks."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.report.panels.messages import between_hosts, formula, pattern, ratio


def matrix(ranks, *edges):
    sent = np.zeros((ranks, ranks), np.int64)
    for edge in edges:
        sent[edge] = 1000
    return sent


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (matrix(4, (0, 1), (1, 2), (2, 3), (3, 0)), "a ring: each rank sends to its neighbour on one side"),
        (matrix(5, *[(a, (a + 1) % 5) for a in range(5)], *[((a + 1) % 5, a) for a in range(5)]), "neighbours"),
        (matrix(8, *[(a, a ^ bit) for a in range(8) for bit in (1, 2, 4)]), "recursive doubling"),
        (matrix(8, *[(a & (a - 1), a) for a in range(1, 8)]), "a binomial tree with rank 0 on top"),
        (matrix(5, (0, 2), (1, 2), (3, 2), (4, 2)), "a star: rank 2 talks to each other rank"),
        (matrix(5, *[(a, b) for a in range(5) for b in range(5) if a != b]), "each rank sends to each other one"),
        (matrix(5, (0, 1), (2, 3)), ""),
        (matrix(4), ""),
    ],
)
def test_a_pattern_has_its_name(sent, words):
    assert pattern(sent).startswith(words) and bool(pattern(sent)) == bool(words)


def test_ranks_of_a_host_are_added_up():
    sent = np.arange(16).reshape(4, 4)
    names, crossing = between_hosts(sent, ["a", "b", "a", "b"])
    assert names == ["a", "b"]
    assert crossing.tolist() == [[0 + 2 + 8 + 10, 1 + 3 + 9 + 11], [4 + 6 + 12 + 14, 5 + 7 + 13 + 15]]


def test_a_formula_says_which_all_reduce_fits():
    inside = matrix(4, *[(a, a ^ bit) for a in range(4) for bit in (1, 2)])
    collectives = matrix(4, *[(a, b) for a in range(4) for b in range(4) if a != b])
    assert ratio(inside, collectives) == 2
    assert "2.00 times by recursive doubling; the second fits." in formula(2.0, 4)
    assert "2 x 3 / 4 = 1.50 times as many in a ring or by halves" in formula(1.5, 4)
    assert formula(1.51, 4).endswith("doubling; the first fits.") and formula(1.2, 4).endswith("doubling.")
    gathered = collectives.copy()
    gathered[:, 0] += 5000
    assert ratio(inside, gathered) is None, "not all ranks got equally much"
    assert ratio(inside, matrix(4)) is None and ratio(matrix(1), matrix(1)) is None
