"""JupyterLab itself: `python -m workshop.notebook.jupyter.server --port N --parent PID`, with its token on standard
input, where no other process and no log can read it. Ends with the process PID that has started it."""

from __future__ import annotations

import argparse
import os
import sys

from workshop.core.environment import raise_limits
from workshop.core.parent_death import end_with_parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workshop.notebook.jupyter.server", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    end_with_parent(options.parent)
    raise_limits()
    token = sys.stdin.readline().strip()

    from jupyterlab.labapp import LabApp

    os.environ["JUPYTER_TOKEN"] = token
    server = LabApp.initialize_server(argv=[f"--ServerApp.port={options.port}"])
    if server.identity_provider.token != token:
        sys.exit("Jupyter has not taken the token that it was given.")
    del os.environ["JUPYTER_TOKEN"]  # kernels and terminals have no use for it
    server.start()


if __name__ == "__main__":
    main()
