"""A control group with little memory, for tests that would otherwise have to fill the machine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")


@contextmanager
def control_group(limit: int) -> Iterator[Path]:
    """A group that may have so many bytes; its folder. Skips where the kernel or the user can't."""
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


def inside(folder: Path, command: Sequence[str]) -> list[str]:
    """The command that runs `command` in the group. Never we ourselves: of all in a group that is full, the kernel ends
    the largest, and that would be the tests."""
    return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(folder / "cgroup.procs"), *command]


def join(folder: Path, *pids: int) -> None:
    """Move processes into the group; what they start from now on is in it, too."""
    for pid in pids:
        (folder / "cgroup.procs").write_text(str(pid))
