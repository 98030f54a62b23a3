"""ZIP archives: what is read is bounded by what is asked for, whatever the archive claims of itself."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core import archives


def zipped(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("a", content)
    return made.getvalue()


@given(st.binary(max_size=3000), st.sampled_from(archives.METHODS))
def test_what_was_written_is_read(content: bytes, method: int) -> None:
    with archives.opened(zipped(content, method)) as archive:
        assert archives.read(archive, "a", len(content)) == content
        if content:
            with pytest.raises(archives.TooLarge):
                archives.read(archive, "a", len(content) - 1)


def test_a_forged_size_takes_no_memory() -> None:
    size = 64 << 20
    forged = zipped(b"\0" * size).replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    tracemalloc.start()
    try:
        with archives.opened(forged) as archive, pytest.raises((archives.TooLarge, zipfile.BadZipFile)):
            archives.read(archive, "a", 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_method_that_unpacks_as_a_whole_is_refused() -> None:
    with archives.opened(zipped(b"x", zipfile.ZIP_BZIP2)) as archive, pytest.raises(ValueError, match="unusual way"):
        archives.read(archive, "a", 10)


def test_many_entries_are_refused_before_they_are_read() -> None:
    with pytest.raises(archives.TooLarge):
        archives.opened(b"PK\x01\x02" * (archives.MOST_ENTRIES + 1))
