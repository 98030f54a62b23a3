"""A bench has a state folder of its own. So its runs are in nobody's history, and the folder is always removed."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workshop.core import config


@contextmanager
def clean_end() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so its processes end and its files are removed. A second SIGTERM is
    ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only that thread hears of signals
        return

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def own_state() -> Iterator[Path]:
    """State for this process and those it starts, in a folder that is removed at the end; then the user's again."""
    cache = config.cache_folder("numba")
    with clean_end(), tempfile.TemporaryDirectory(prefix="workshop-bench-") as folder, config.elsewhere(folder):
        # Compiled kernels are the user's: compiling them again would be what is measured.
        config.cache_folder("numba").rmdir()
        (config.home() / "cache" / "numba").symlink_to(cache)
        yield Path(folder)
