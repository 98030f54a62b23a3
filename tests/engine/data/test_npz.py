"""npz archives: what is read is what was written, and whatever else comes is refused by name."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.workloads.mnist.data.made import npz
from tests.workloads.mnist.data.refusals import names, only_bad_input, refused
from workshop.engine.data import read_npz

ONE = ("a",)


def saved(array: np.ndarray, save=np.savez) -> bytes:
    buffer = io.BytesIO()
    save(buffer, a=array)
    return buffer.getvalue()


def archive(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive whose array `a` is these bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.writestr("a.npy", content)
    return buffer.getvalue()


def header(shape: str, descr: str = "|u1") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@settings(deadline=None)
@given(
    arrays.arrays(st.sampled_from(["u1", "i8", ">i4", "f4"]), arrays.array_shapes(min_dims=0, max_dims=4, min_side=0)),
    st.sampled_from([np.savez, np.savez_compressed]),
    st.booleans(),
)
def test_what_was_written_is_read(array, save, fortran):
    found = read_npz(saved(np.asfortranarray(array) if fortran else array, save), "file", ONE)["a"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@settings(deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_or_refused(data, as_array):
    only_bad_input(lambda: read_npz(archive(data) if as_array else data, "file", ONE))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4), st.integers(0, 2000), st.booleans())
def test_a_changed_file_is_read_or_refused(changes, end, cut):
    data = bytearray(saved(np.arange(60, dtype=np.uint8).reshape(3, 4, 5), np.savez_compressed))
    for place, value in changes:
        data[place % len(data)] = value
    only_bad_input(lambda: read_npz(bytes(data[:end] if cut else data), "file", ONE))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"PK\x03\x04", "not a zip file"),
        (saved(np.zeros(9))[:-40], "not a zip file"),
        (b"", "can't be read as npz"),
        (archive(header("(3,)") + b"12"), "can't be read as npz"),
        (archive(header("(" * 200)), "can't be read as npz"),
        (archive(header("(3,)", "|O")), "can't be read as npz"),
        (saved(np.array([{}], object)), "can't be read as npz"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_a_file_that_cannot_be_read_is_named_with_its_checksum(data, says):
    sentence = refused(lambda: read_npz(data, "/some/file.npz", ONE))
    assert names(sentence, "/some/file.npz", data)
    assert says in sentence


def test_missing_arrays_are_named():
    data = npz(x_test=None, y_test=None)
    sentence = refused(lambda: read_npz(data, "file", ("x_train", "x_test", "y_test")))
    assert "has no x_test and no y_test; give an npz file with x_train, x_test, y_test" in sentence
    assert names(sentence, "file", data)
