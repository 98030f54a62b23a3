"""The dashboard's log, which visitors can't fill: so much a minute, and so much on disk."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import threading
import time
from contextlib import suppress
from typing import TextIO

A_MINUTE = 40_000  # characters: some ten tracebacks
LONGEST = 8_000  # characters of one record
LARGEST = 8 << 20  # bytes of the file, and of the older one beside it


class LimitedLog:
    """A text stream for log records, with one `write` each. It counts and drops records above a minute's limit. A
    regular file that is too large becomes `NAME.1`; it has to be open for appending."""

    def __init__(
        self, stream: TextIO, a_minute: int = A_MINUTE, largest: int = LARGEST, longest: int = LONGEST
    ) -> None:
        self._stream, self._a_minute, self._largest, self._longest = stream, a_minute, largest, longest
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._written = self._left_out = 0

    def write(self, text: str) -> int:
        with self._lock:
            if time.monotonic() - self._began >= 60:
                self._tell()
                self._began, self._written = time.monotonic(), 0
            if self._written >= self._a_minute:
                self._left_out += 1
                return len(text)
            shortened = self._shortened(text)
            self._written += len(shortened)
            self._stream.write(shortened)
            if self._written >= self._a_minute:
                self._stream.write("Too much was logged; what comes within this minute is left out.\n")
            self._stream.flush()
            self._keep_small()
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def _tell(self) -> None:
        if self._left_out:
            self._stream.write(f"{self._left_out} records of the log were left out: they came too fast.\n")
        self._left_out = 0

    def _shortened(self, text: str) -> str:
        half = self._longest // 2
        return text if len(text) <= self._longest else f"{text[:half]}\n[...]\n{text[-half:]}"

    def _keep_small(self) -> None:
        with suppress(OSError, ValueError):  # a stream without a file
            number = self._stream.fileno()
            file_status = os.fstat(number)
            if stat.S_ISREG(file_status.st_mode) and file_status.st_size > self._largest:
                here = f"/proc/self/fd/{number}"
                shutil.copyfile(here, f"{os.readlink(here)}.1")
                os.ftruncate(number, 0)


def spare() -> None:
    """Let everything that this process logs from now on go through one such stream."""
    if not isinstance(sys.stderr, LimitedLog):
        sys.stderr = LimitedLog(sys.stderr)
