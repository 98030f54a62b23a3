"""A JupyterLab as `workshop up` keeps it, and what a page or a program asks of its server."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
from websockets.sync.client import ClientConnection, connect

from tests.support import limit, until
from workshop.core.ports import free_port
from workshop.notebook.jupyter.child import JupyterLab

PATIENCE = limit(120)  # seconds


class Lab:
    """The server at a link that `workshop up` has printed."""

    def __init__(self, link: str) -> None:
        self.url, self.token = link.split("/lab?token=")

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Any:
        """What it answers, as JSON. Raises HTTPError."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"} | headers
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, headers, method=method), timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def refuses(self, path: str, method: str = "GET", **headers: str) -> int:
        """The status with which it refuses."""
        try:
            self.ask(path, method, **headers)
        except HTTPError as error:
            return error.code
        return 0

    def answers(self) -> bool:
        try:
            return bool(self.ask("/api"))
        except OSError:
            return False

    def kernel(self) -> str:
        """Start a kernel; returns its number."""
        return self.ask("/api/kernels", "POST", {"name": "python3"})["id"]

    def run(self, kernel: str, code: str) -> str:
        """Run a cell; returns what it prints. An error is what IPython shows of it."""
        with self._socket(f"/api/kernels/{kernel}/channels?session_id={uuid.uuid4().hex}") as socket:
            return executed(socket, code)

    def type(self, line: str, awaited: str) -> str:
        """Type a line in a new terminal; returns what is there when something awaited is."""
        name = self.ask("/api/terminals", "POST")["name"]
        seen = ""
        with self._socket(f"/terminals/websocket/{name}") as socket:
            socket.send(json.dumps(["stdin", f"{line}\r"]))
            while awaited not in seen:
                kind, *words = json.loads(socket.recv(timeout=PATIENCE))
                seen += "".join(map(str, words)) if kind == "stdout" else ""
        return seen

    def cluster(self) -> str:
        """Start the cluster that the ipyparallel panel offers, and wait for its engines; returns its name."""
        name = self.ask("/ipyparallel/clusters")[0]["id"]
        self.ask(f"/ipyparallel/clusters/{name}", "POST", {})
        return name

    def _socket(self, path: str) -> ClientConnection:
        address = self.url.replace("http://", "ws://") + path
        headers = {"Authorization": f"token {self.token}"}
        return connect(address, additional_headers=headers, max_size=None, open_timeout=PATIENCE)


def executed(socket: ClientConnection, code: str) -> str:
    """Run a cell on a kernel's channels; returns what it shows as text. An error is what IPython shows of it."""
    number, shown, stream = uuid.uuid4().hex, [], ""  # the stream that the last part is from: it comes in many parts
    header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    request = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    socket.send(json.dumps(request))
    while True:
        message: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE))
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != number:
            continue
        if kind == "stream" and stream == content["name"]:
            shown[-1] += content["text"]
        elif kind == "stream":
            shown.append(content["text"])
        elif kind in ("execute_result", "display_data", "update_display_data"):
            shown.append(content["data"].get("text/plain", ""))
        elif kind == "error":
            shown.append("\n".join(content["traceback"]))
        elif kind == "status" and content["execution_state"] == "idle":
            return "\n".join(shown)
        stream = content["name"] if kind == "stream" else ""


@contextmanager
def running(dashboard: str | None = None) -> Iterator[tuple[JupyterLab, Lab, list[str]]]:
    """A JupyterLab of this process, without a session; and what it says."""
    said: list[str] = []
    child = JupyterLab.asked_for(str(free_port()), said.append)
    child.dashboard = dashboard
    try:
        child.start()
        child.wait_ready(threading.Event())
        yield child, Lab(child.link), said
    finally:
        child.ask_to_end()
        child.end()


def process(home: Path, word: str) -> psutil.Process:
    """The one process with that word in its command line."""
    from tests.conftest import leftovers

    return until(lambda: next((p for p in leftovers(home) if word in words(p)), None), 30, word)


def words(process: psutil.Process) -> list[str]:
    """Its command line; nothing of one that has ended since it was found."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []
