"""A control group with little memory, for tests that would otherwise have to fill the machine."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")


@contextmanager
def control_group(limit: int) -> Iterator[Path]:
    """A group that may have so many bytes; its folder. `join` it. Skips where the kernel or the user can't."""
    version2 = (V2 / "cgroup.controllers").exists()
    folder = (V2 if version2 else V1) / f"workshop-test-{secrets.token_hex(4)}"
    try:
        folder.mkdir()
        (folder / ("memory.max" if version2 else "memory.limit_in_bytes")).write_text(str(limit))
    except OSError as error:
        if folder.is_dir():
            folder.rmdir()
        # Not what an installation may lack: also in CI it depends on where that runs.
        pytest.skip(f"control groups of memory can't be made here: {error}")
    try:
        if version2 and (folder / "memory.swap.max").exists():
            (folder / "memory.swap.max").write_text("0")
        yield folder
    finally:
        deadline = time.monotonic() + 10
        while folder.is_dir():
            try:
                folder.rmdir()
            except OSError:  # somebody is still in it
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@contextmanager
def joined(folder: Path) -> Iterator[None]:
    """Be in the group for a while, as whoever is started then stays."""
    mine = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if _of(line, folder)).split(":")[2]
    top = folder.parent
    before = top / mine.lstrip("/")
    (folder / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        ((before if before.is_dir() else top) / "cgroup.procs").write_text(str(os.getpid()))


def _of(line: str, folder: Path) -> bool:
    _, controllers, _ = line.split(":", 2)
    return "memory" in controllers.split(",") if folder.parent == V1 else not controllers
