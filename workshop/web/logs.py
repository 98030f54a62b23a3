"""The dashboard's log, which stays small on disk whatever visitors do."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from contextlib import suppress
from typing import Any, TextIO

LONGEST_RECORD = 8_000  # characters of one record
LARGEST_LOG = 8 << 20  # bytes of the file, and of the older one beside it


class LimitedLog:
    """A text stream for log records, with one `write` each. A long record is shortened. A regular file that is too
    large becomes `NAME.1`; it has to be open for appending."""

    def __init__(self, stream: TextIO, largest: int = LARGEST_LOG) -> None:
        self._stream, self._largest = stream, largest
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        half = LONGEST_RECORD // 2
        with self._lock:
            self._stream.write(text if len(text) <= LONGEST_RECORD else f"{text[:half]}\n[...]\n{text[-half:]}")
            self._stream.flush()
            with suppress(OSError, ValueError):  # a stream without a file
                self._rotate(self._stream.fileno())
        return len(text)

    def _rotate(self, number: int) -> None:
        file_status = os.fstat(number)
        if stat.S_ISREG(file_status.st_mode) and file_status.st_size > self._largest:
            here = f"/proc/self/fd/{number}"
            shutil.copyfile(here, f"{os.readlink(here)}.1")
            os.ftruncate(number, 0)
