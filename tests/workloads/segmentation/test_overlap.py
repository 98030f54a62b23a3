"""Losses and scores against scikit-learn's, and against what the formulas say of each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, jaccard_score

from workshop.workloads.segmentation import overlap

SHAPE = (6, 5, 7, 1)  # images, height, width
CLOSE = 2e-6


def drawn(seed, true, found):
    """Masks and logits in which so many of the pixels are there."""
    stream = np.random.RandomState(seed)
    masks = (stream.uniform(size=SHAPE) < true).astype(np.float32)
    logits = 2 * stream.standard_normal(SHAPE) + np.log(found / (1 - found))
    return masks, logits.astype(np.float32)


def probabilities(logits):
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


def value(tensor):
    return tensor.numpy().astype(np.float64)


cases = st.builds(drawn, st.integers(0, 2**31), st.floats(0, 1), st.floats(0.02, 0.98))
some = settings(max_examples=12, deadline=None)


@some
@given(cases)
def test_scores_are_those_of_scikit_learn(case):
    masks, logits = case
    dice, jaccard = value(overlap.dice(masks, logits)), value(overlap.jaccard(masks, logits))
    for at, (true, found) in enumerate(zip(masks.reshape(6, -1) > 0, logits.reshape(6, -1) > 0, strict=True)):
        assert dice[at] == pytest.approx(f1_score(true, found, zero_division=1.0), abs=CLOSE)
        assert jaccard[at] == pytest.approx(jaccard_score(true, found, zero_division=1.0), abs=CLOSE)


@some
@given(cases)
def test_dice_and_jaccard_are_tversky_of_other_weights(case):
    for weight, score in ((0.5, overlap.dice), (1.0, overlap.jaccard)):
        np.testing.assert_allclose(value(overlap.tversky(*case, weight, weight)), value(score(*case)), atol=CLOSE)


@some
@given(cases)
def test_soft_losses_are_their_closed_forms(case):
    """Each written down by itself, in float64, from sums of products."""
    masks, logits = case
    axes = (1, 2, 3)
    found = probabilities(logits)
    both, true, all_found = (masks * found).sum(axes), masks.sum(axes), found.sum(axes)
    smooth = overlap.SMOOTH
    dice = (2 * both + 2 * smooth) / (true + all_found + 2 * smooth)
    jaccard = (both + smooth) / (true + all_found - both + smooth)
    np.testing.assert_allclose(value(overlap.loss_of("dice", 9, 9)(masks, logits)), 1 - dice, atol=1e-5)
    np.testing.assert_allclose(value(overlap.loss_of("jaccard", 9, 9)(masks, logits)), 1 - jaccard, atol=1e-5)
    # Tversky's index is both of them at their weights.
    for weight, known in ((0.5, dice), (1.0, jaccard)):
        told = value(overlap.loss_of("tversky", weight, weight)(masks, logits))
        np.testing.assert_allclose(told, 1 - known, atol=1e-5)


def test_beta_above_alpha_makes_missing_dearer_than_finding_too_much():
    true = np.zeros((1, 4, 4, 1), np.float32)
    true[0, 1:3, 1:3] = 1
    missing, beyond = (np.full((1, 4, 4, 1), -200, np.float32) for _ in range(2))
    missing[0, 1:3, 1] = 200  # two of four
    beyond[0, 1:3, 1:4] = 200  # two more than the four
    loss = overlap.loss_of("tversky", 0.3, 0.7)
    assert float(loss(true, missing)[0]) == pytest.approx(1 - 2.1 / (2 + 0.7 * 2 + 0.1), abs=CLOSE)
    assert float(loss(true, beyond)[0]) == pytest.approx(1 - 4.1 / (4 + 0.3 * 2 + 0.1), abs=CLOSE)
    assert loss(true, missing)[0] > loss(true, beyond)[0]


def test_empty_masks():
    nothing, some_pixels = np.zeros((1, 3, 3, 1), np.float32), np.full((1, 3, 3, 1), 5, np.float32)
    for score in (overlap.dice, overlap.jaccard):
        assert float(score(nothing, -some_pixels)[0]) == 1, "nothing is there, and nothing was found"
        assert float(score(nothing, some_pixels)[0]) == 0
        assert float(score(np.ones_like(nothing), -some_pixels)[0]) == 0
    loss = overlap.loss_of("dice", 1, 1)
    assert float(loss(nothing, -100 * some_pixels)[0]) == pytest.approx(0, abs=CLOSE)
    assert float(loss(nothing, some_pixels)[0]) > 0.9
