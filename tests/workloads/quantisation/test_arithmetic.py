"""Sums of products in integers of each width, batches that are filled up, and flags of processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.quantisation import formats
from workshop.workloads.quantisation.formats import batches

PRODUCTS = st.lists(st.integers(-255 * 127, 255 * 127), min_size=1, max_size=200)


@given(PRODUCTS)
def test_sums_are_exact_in_int32_and_modulo_their_range_in_the_others(products: list[int]) -> None:
    running = formats.running_sums(np.array(products, np.int64))
    exact = [sum(products[: end + 1]) for end in range(len(products))]
    assert running["INT32"].tolist() == exact
    for name, bits in (("INT16", 16), ("INT8", 8)):
        half = 2 ** (bits - 1)
        assert running[name].tolist() == [(value + half) % (2 * half) - half for value in exact]


@given(st.integers(1, 40), st.integers(1, 16))
def test_batches_have_each_image_once_and_are_full(count: int, batch: int) -> None:
    images = np.arange(count, dtype=np.float32).reshape(-1, 1, 1, 1)
    parts = list(batches(images, batch))
    assert all(len(part) == batch for part, _ in parts)
    assert np.concatenate([part[:new] for part, new in parts]).ravel().tolist() == list(range(count))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_vnni amx_int8\n", ["avx512_vnni", "amx_int8"]),
        ("flags\t\t: fpu avx2 avx512_vnni_like\n", []),
        ("Features\t: fp asimd\n", []),
    ],
)
def test_flags_of_the_processor(text: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path, encoding=None: text)
    assert formats.instructions() == names
