"""The dashboard as a tile in anybody's JupyterLab, by jupyter-server-proxy: opening it runs `workshop up` there.

`python -m workshop.notebook.jupyter.tile PORT PREFIX` is that process. It ends with JupyterLab. Where another
`workshop up` runs already, it says so at its port until that one has ended.
"""

from __future__ import annotations

import os
import secrets
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from workshop.core.errors import BadInput
from workshop.core.parent_death import guarded
from workshop.notebook.jupyter.settings import UP
from workshop.web.address import OWNER, OWNER_HEADER

NAME = "workshop-dashboard"  # the last part of its address
ICON = Path(__file__).parents[2] / "web" / "static" / "mark.svg"
READY = 120.0  # seconds within which it must answer


def dashboard() -> dict[str, Any]:
    """The settings of a server for jupyter-server-proxy (its `ServerProcess`). Visitors of this JupyterLab are its
    owner, who comes in as the instructor by a secret that only the two processes know."""
    secret = secrets.token_urlsafe(32)

    def command(port: int, base_url: str) -> list[str]:
        arguments = [str(port), f"{unquote(base_url)}{NAME}"]
        return guarded([sys.executable, "-P", "-m", "workshop.notebook.jupyter.tile", *arguments])

    return {
        "command": command,
        "environment": {OWNER: secret},
        "request_headers_override": {OWNER_HEADER: secret},
        "timeout": READY,
        "launcher_entry": {"title": "Workshop", "icon_path": str(ICON), "path_info": f"{NAME}/"},
    }


def running() -> str | None:
    """A sentence where a `workshop up` of this state folder runs."""
    from workshop.sessions.supervisor import only_one

    try:
        with only_one():
            return None
    except BadInput as error:
        return str(error)


def explain(port: int) -> None:
    """Answer every request with the sentence of `running`, until there is none."""

    class Sentence(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            words = (running() or "It has ended; open this again.").encode()
            self.send_response(503)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", port), Sentence) as server:
        server.timeout = 1.0  # seconds between two looks
        while running():
            server.handle_request()


def main() -> None:
    port, prefix = sys.argv[1:]
    if running():
        explain(int(port))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # its links hold tokens, and JupyterLab's log is not for them
    options = ["--no-lab", "--port", port, "--prefix", prefix]
    os.execv(sys.executable, [sys.executable, "-P", "-c", UP, "up", *options])


if __name__ == "__main__":
    main()
