"""Pictures with outlines, pixel by pixel."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from workshop.workloads.segmentation.overlays import (
    FOOT,
    GAP,
    HEAD,
    PREDICTED,
    TRUE,
    Example,
    ScoredMask,
    outline,
    outlined,
    sheet,
)
from workshop.workloads.segmentation.task import INSPECTED, chosen


def box(size, *edges):
    mask = np.zeros((size, size), bool)
    mask[edges[0] : edges[1], edges[2] : edges[3]] = True
    return mask


def test_an_outline_is_the_edge_of_a_mask_inside_it():
    mask = box(20, 4, 16, 5, 15)
    expected = mask & ~box(20, 6, 14, 7, 13)
    np.testing.assert_array_equal(outline(mask), expected)
    assert not outline(np.zeros((20, 20), bool)).any()
    assert outline(np.ones((20, 20), bool))[0].all(), "what is cut off by the border has its edge there"


def test_outlines_are_both_seen_where_they_agree():
    grey, mask = np.full((24, 24, 3), 80, np.uint8), box(24, 4, 20, 4, 20)
    drawn = outlined(grey, mask, mask)
    colours = {tuple(colour) for colour in drawn[outline(mask)].tolist()}
    assert colours == {TRUE, PREDICTED}
    assert (drawn[~outline(mask)] == 80).all()
    assert (grey == 80).all(), "what was given is left alone"
    apart = outlined(grey, mask, box(24, 0, 24, 0, 2))
    assert {tuple(one) for one in apart[outline(mask) & ~box(24, 0, 24, 0, 2)].tolist()} == {TRUE}


def test_a_sheet_has_a_row_for_each_patient_and_a_column_for_each_way():
    size = 32
    plane = np.linspace(0, 1, size * size, dtype=np.float32).reshape(size, size)
    mask = box(size, 4, 12, 4, 12)
    examples = [Example(plane, plane, mask, "1 lesion, scanner 1")] * 3
    answers = {"federated": [ScoredMask(mask, 1.0)] * 3, "pooled": [ScoredMask(~mask, 0.0)] * 3}
    picture = Image.open(io.BytesIO(sheet(examples, answers)))
    assert picture.size == (4 * (192 + GAP) - GAP, HEAD + 3 * (192 + FOOT))
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    ct, pet = (pixels[HEAD + 8 : HEAD + 184, at + 8 : at + 184, 0] for at in (0, 192 + GAP))
    assert np.abs(ct + pet - 255).max() <= 2, "PET is dark where CT of the same values is bright"
    whole = pixels.reshape(-1, 3).tolist()
    assert list(TRUE) in whole and list(PREDICTED) in whole


def test_patients_to_look_at_have_lesions_but_for_one():
    assert chosen([0, 0, 1, 2, 3, 1, 1]) == [2, 3, 4, 0]
    assert chosen([1] * 9) == list(range(INSPECTED))
    assert chosen([0, 0]) == [0]
    assert chosen([2]) == [0]
