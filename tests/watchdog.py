"""Ends what a run of the tests has started, however the run itself has ended: `-m tests.watchdog PID TAG`.

Every process that tests start inherits the tag. Fixtures end their processes themselves; the watchdog is for a run that
was killed, or stopped in the middle of a fixture.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

TAG = "WORKSHOP_TEST_RUN"
GRACE = 5.0  # seconds for fixtures of worker processes, which notice the end of the run a moment later


def start() -> None:
    """Watch over this process, and tag whatever it starts from now on."""
    os.environ[TAG] = f"{os.getpid()}-{time.time_ns()}"
    subprocess.Popen(
        [sys.executable, "-m", "tests.watchdog", str(os.getpid()), os.environ[TAG]],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != TAG},
    )


def temporary_folder(prefix: str) -> Path:
    """A folder with a short name, for sockets, that is removed with the run at the latest."""
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir="/tmp"))
    (folder / TAG).write_text(os.environ.get(TAG, ""))
    return folder


def tagged(tag: str) -> list[psutil.Process]:
    """The living processes of a run."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(TAG) == tag and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def clear_up(tag: str, grace: float) -> None:
    """Kill the processes of a run that still live after `grace` seconds, and remove its temporary folders."""
    deadline = time.monotonic() + grace
    while (left := tagged(tag)) and time.monotonic() < deadline:
        time.sleep(0.2)
    while left:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=5)
        left = tagged(tag)
    for mark in Path("/tmp").glob(f"*/{TAG}"):
        if mark.read_text() == tag:
            shutil.rmtree(mark.parent, ignore_errors=True)


def main() -> None:
    run, tag = int(sys.argv[1]), sys.argv[2]
    try:
        descriptor = os.pidfd_open(run)
    except ProcessLookupError:
        pass
    else:
        select.select([descriptor], [], [])
    clear_up(tag, GRACE)


if __name__ == "__main__":
    main()
