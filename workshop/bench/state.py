"""A state folder of a bench's own: what it runs is nobody's history."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workshop import config


@contextmanager
def own_state() -> Iterator[Path]:
    """State for this process and those it starts, in a folder that is removed at the end; then the user's again."""
    names = ("WORKSHOP_HOME", "WORKSHOP_DATABASE_URL")
    before = {name: os.environ.get(name) for name in names}
    cache = config.cache_folder("numba")
    with tempfile.TemporaryDirectory(prefix="workshop-bench-") as folder:
        os.environ["WORKSHOP_HOME"] = folder
        os.environ.pop("WORKSHOP_DATABASE_URL", None)
        # Compiled kernels are the user's: compiling them again would be what is measured.
        config.cache_folder("numba").rmdir()
        (config.home() / "cache" / "numba").symlink_to(cache)
        try:
            yield Path(folder)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
