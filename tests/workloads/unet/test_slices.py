"""Dense and sparse images: which pixels are lesions, and that they are the same wherever they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.workloads.segmentation.phantoms import COMMON, scans
from workshop.workloads.unet import WORKLOAD, UnetParams, slices

COUNT = 40


def params(**values: object) -> UnetParams:
    return WORKLOAD.check({"size": 32, **values})  # type: ignore[return-value]  # the workload's own params


def test_every_dense_image_has_lesions_and_more_of_them_than_a_sparse_one() -> None:
    dense, sparse = (slices.training(params(images=kind), range(COUNT)).masks for kind in ("dense", "sparse"))
    assert dense.any(axis=(1, 2, 3)).all()
    empty = ~sparse.any(axis=(1, 2, 3))
    assert 0 < empty.mean() < 0.5
    assert dense.mean() > 3 * sparse.mean()
    assert sparse.mean() < 0.03


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_image_is_the_same_on_whichever_rank_it_is_drawn(kind: str) -> None:
    several = slices.training(params(images=kind), range(6))
    single = slices.training(params(images=kind), [4])
    np.testing.assert_array_equal(single.images[0], several.images[4])
    np.testing.assert_array_equal(single.masks[0], several.masks[4])
    others = [slices.held_out(params(images=kind), [4]), slices.training(params(images=kind, seed=1), [4])]
    assert not any(np.array_equal(other.images, single.images) for other in others)


def test_a_dense_image_is_a_window_of_a_slice_twice_as_wide() -> None:
    (person,), images, masks = (
        getattr(slices.training(params(seed=3), [0]), name) for name in ("people", "images", "masks")
    )
    # The noise depends on the patient's key, the mask on the patient alone.
    _, whole = scans([person], [(0,)], [COMMON], 64)
    windows = np.lib.stride_tricks.sliding_window_view(whole[0, ..., 0], (32, 32))
    assert (windows == masks[0, ..., 0]).all(axis=(2, 3)).any()
    assert images.shape == (1, 32, 32, 2) and masks.shape == (1, 32, 32, 1)
