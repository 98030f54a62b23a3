"""IDX files: what is read is what was written, and whatever else comes is refused by name."""

from __future__ import annotations

import gzip
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.workloads.mnist.data.made import idx, packed
from tests.workloads.mnist.data.refusals import names, only_bad_input, refused
from workshop.workloads.mnist.data.idx import read

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
SMALL = idx(np.arange(60, dtype=np.uint8).reshape(3, 4, 5))


@settings(deadline=None)
@given(st.data(), st.sampled_from(sorted(TYPES)), st.booleans())
def test_what_was_written_is_read(data, kind, gz):
    array = data.draw(arrays.arrays(TYPES[kind], arrays.array_shapes(min_dims=1, max_dims=4, min_side=0)))
    file = idx(array, kind)
    found = read(packed(file) if gz else file, "file")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_a_file_of_several_gzip_members_is_one_file():
    np.testing.assert_array_equal(read(packed(SMALL[:30]) + packed(SMALL[30:]), "file"), read(SMALL, "file"))


@settings(deadline=None)
@given(st.binary(max_size=200))
@example(b"\0\0\x08\x01\xff\xff\xff\xff")
@example(b"\0\0\x08\x08" + b"\xff" * 32)
@example(b"\0\0\x08\x02\0\0\0\0\xff\xff\xff\xff")
@example(b"\x1f\x8b")
def test_any_bytes_are_read_or_refused(data):
    only_bad_input(lambda: read(data, "file"))


@settings(max_examples=300, deadline=None)
@given(st.booleans(), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4), st.integers(0, 200))
def test_a_changed_file_is_read_or_refused(gz, changes, end):
    data = bytearray(packed(SMALL) if gz else SMALL)
    for place, value in changes:
        data[place % len(data)] = value
    only_bad_input(lambda: read(bytes(data[:end]), "file"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "begins with nothing"),
        (b"\0\0", "begins with 00 00"),
        (b"\0\0\x07\x01", "is no IDX file: it begins with 00 00 07 01"),
        (b"\0\0\x08\0", "is no IDX file"),
        (b"\0\0\x08\xff" + b"\0" * 1020, "is no IDX file"),
        (b"\x89PNG\r\n\x1a\n", "begins with 89 50 4e 47"),
        (b"\0\0\x08\x03\0\0", "in the middle of its dimensions"),
        (SMALL[:-1], "claims 3 x 4 x 5 values, 60 bytes, and holds 59"),
        (SMALL + b"x", "60 bytes, and holds more"),
        (packed(SMALL)[:-9], "is damaged"),
        (packed(SMALL)[:-3], "is damaged"),
        (packed(SMALL + b"x"), "holds more"),
        (packed(SMALL) + b"no gzip", "is damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_a_file_that_is_no_idx_file_is_named_with_its_checksum(data, says):
    sentence = refused(lambda: read(data, "/some/file.gz"))
    assert names(sentence, "/some/file.gz", data)
    assert says in sentence


def test_every_changed_byte_of_compressed_values_is_noticed():
    whole = packed(idx(np.random.default_rng(0).integers(0, 256, 500, np.uint8)))
    for place in range(100, len(whole) - 8, 37):
        data = bytearray(whole)
        data[place] ^= 0x10
        assert "is damaged" in refused(lambda data=bytes(data): read(data, "file"))


def test_a_file_that_claims_too_much_takes_no_memory():
    for shape in ([2**32 - 1] * 8, [300, 1000, 1000], [2**28 + 1]):
        header = struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape)
        for data in (header, packed(header)):
            tracemalloc.start()
            assert "at most 256 MB" in refused(lambda data=data: read(data, "file"))
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
            tracemalloc.stop()


def test_a_file_that_unpacks_to_more_than_it_claims_is_not_unpacked():
    bomb = gzip.compress(SMALL + bytes(64 << 20), 9)
    tracemalloc.start()
    assert "holds more" in refused(lambda: read(bomb, "file"))
    assert tracemalloc.get_traced_memory()[1] < 2 << 20
    tracemalloc.stop()
