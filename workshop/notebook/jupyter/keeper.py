"""The process between `workshop up` and JupyterLab: when either of them ends, however, it ends all that JupyterLab has
started (kernels, terminals and what runs in them, clusters of the ipyparallel panel), then itself.

`python -m workshop.notebook.jupyter.keeper --port N --parent PID`, with the token on standard input, where no other
process and no log can read it; with `--serve` it is JupyterLab itself. Sessions that were started in a notebook or a
terminal have conductors, which end them in good order when their owner is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from types import FrameType

from workshop.core.environment import raise_limits
from workshop.core.parent_death import end_with_parent

TAG = "WORKSHOP_JUPYTER"  # everything that JupyterLab has started carries it; its value is `workshop up`'s number
PATIENCE = 8.0  # seconds that JupyterLab has to end its kernels
GRACE = 3.0  # seconds that those have to end by themselves which outlive it
LOOKS = 2.0  # seconds for looking at all processes of a busy machine


def end_started(value: str) -> None:
    """End all processes that carry the tag, except sessions and the process that asks."""
    from workshop.core import processes

    processes.end_all(TAG, value, GRACE, but=(processes.TAG,))


def longest() -> float:
    """The longest time in seconds that a keeper takes to end, whatever JupyterLab has started."""
    from workshop.core import processes

    return PATIENCE + GRACE + processes.KILLED + LOOKS


def serve(port: int, parent: int) -> int:
    """JupyterLab itself, which ends with the process `parent`."""
    end_with_parent(parent)
    raise_limits()
    token = sys.stdin.readline().strip()

    from jupyterlab.labapp import LabApp

    os.environ["JUPYTER_TOKEN"] = token
    server = LabApp.initialize_server(argv=[f"--ServerApp.port={port}"])
    if server.identity_provider.token != token:
        sys.exit("Jupyter has not taken the token that it was given.")
    del os.environ["JUPYTER_TOKEN"]  # kernels and terminals have no use for it
    server.start()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workshop.notebook.jupyter.keeper", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        return serve(options.port, options.parent)
    command = [sys.executable, "-P", "-m", "workshop.notebook.jupyter.keeper", "--serve", "--port", str(options.port)]
    server: subprocess.Popen[bytes] | None = None
    end_requested = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal end_requested
        end_requested = True
        if server is not None:
            server.terminate()

    signal.signal(signal.SIGTERM, ask)
    end_with_parent(options.parent)
    token = sys.stdin.buffer.readline()
    server = subprocess.Popen([*command, "--parent", str(os.getpid())], stdin=subprocess.PIPE)
    try:
        assert server.stdin is not None, "piped"
        with contextlib.suppress(BrokenPipeError), server.stdin:
            server.stdin.write(token)
        while not end_requested:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return server.wait(0.2)
        server.terminate()  # once more, for one that was asked before it was there
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(PATIENCE)
        return 0
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
        end_started(os.environ.get(TAG, ""))


if __name__ == "__main__":
    sys.exit(main())
