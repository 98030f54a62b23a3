"""ZIP archives that others have made, read up to a limit.

An archive's directory may claim any size for a file. `zipfile` looks at that size only after it has unpacked the file.
"""

from __future__ import annotations

import io
import zipfile
from typing import IO

MOST_ENTRIES = 10_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # `zipfile` unpacks these two piece by piece
_ENTRY = b"PK\x01\x02"  # begins each entry of the directory


class TooLarge(ValueError):
    """A file in an archive, or the archive's directory, is larger than it may be."""


def opened(data: bytes, most_entries: int = MOST_ENTRIES) -> zipfile.ZipFile:
    """An archive of at most so many files. Raises TooLarge for more files, and `zipfile`'s errors for a damaged
    archive."""
    if (entries := data.count(_ENTRY)) > most_entries:  # before an object is made for each of them
        raise TooLarge(f"it has {entries} files in it; at most {most_entries} are read")
    return zipfile.ZipFile(io.BytesIO(data))


def begin(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A file of an archive, to be read piece by piece: `read(n)` unpacks about n bytes. Raises KeyError where it isn't
    there, ValueError where it is packed in a way that is unpacked as a whole."""
    info = archive.getinfo(name)
    if info.compress_type not in METHODS:
        raise ValueError(f"{name[:60]} is compressed in an unusual way; save it with deflate")
    return archive.open(info)


def read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of a file. Raises TooLarge for more than `most` bytes, whatever size the directory claims."""
    with begin(archive, name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLarge(f"{name[:60]} has more than {most:,} bytes")
    return data
