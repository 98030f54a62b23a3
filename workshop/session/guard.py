"""Start a program that ends with its parent, also after kill -9 of the parent.

`python -m workshop.session.guard PID [--expendable] CMD…`, where PID is the parent that the program belongs to. The
kernel sends SIGTERM when it dies; the program itself notices nothing before that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from workshop.memory import give_way

PR_SET_PDEATHSIG = 1  # prctl(2)
EXPENDABLE = "--expendable"


def end_with_parent(parent: int) -> None:
    """Ask the kernel for SIGTERM when our parent dies; ends at once if it is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def guarded(command: list[str], expendable: bool = False) -> list[str]:
    """The command that runs `command` as a child of this process and no longer than it. One that is `expendable` is
    among the first that the kernel ends for want of memory, with all that it starts."""
    options = [EXPENDABLE] if expendable else []
    return [sys.executable, "-m", "workshop.session.guard", str(os.getpid()), *options, *command]


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    command = sys.argv[2:]
    if command[0] == EXPENDABLE:
        command = command[1:]
        give_way()
    os.execvp(command[0], command)
