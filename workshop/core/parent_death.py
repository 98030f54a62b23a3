"""Start a program that ends with its parent, also after kill -9 of the parent.

`python -m workshop.core.parent_death PID [--expendable | --tree] CMD…`, where PID is the parent that the program
belongs to. The kernel sends SIGTERM when it dies; the program itself notices nothing before that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

from workshop.core.memory import give_way

PR_SET_PDEATHSIG = 1  # prctl(2)
EXPENDABLE = "--expendable"
TREE = "--tree"


def end_with_parent(parent: int) -> None:
    """Ask the kernel for SIGTERM when our parent dies; ends at once if it is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def guarded(command: list[str], expendable: bool = False, tree: bool = False) -> list[str]:
    """The command that runs `command` as a child of this process and ends it with this process. With `expendable`, the
    kernel ends it and its children first when memory runs out. With `tree`, it has a process group, which ends as a
    whole."""
    options = [EXPENDABLE] * expendable + [TREE] * tree
    return [sys.executable, "-P", "-m", "workshop.core.parent_death", str(os.getpid()), *options, *command]


def run_tree(command: list[str]) -> int:
    """Run a program in a process group of its own, which is killed as a whole when we are asked to end; returns its
    exit code."""

    def end(*_: object) -> None:
        kill_trees(os.getpid(), signal.SIGKILL)
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    code = subprocess.Popen(command, process_group=0).wait()
    return code if code >= 0 else 128 - code


def kill_trees(parent: int, number: int) -> None:
    """Send a signal to the process group of each child of a process."""
    import psutil  # not needed by those that only hand over to a program

    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(parent).children():
            with contextlib.suppress(OSError):
                os.killpg(child.pid, number)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    command = sys.argv[2:]
    if command[0] == TREE:
        sys.exit(run_tree(command[1:]))
    if command[0] == EXPENDABLE:
        command = command[1:]
        give_way()
    os.execvp(command[0], command)
