"""A real kernel, and what a browser would know of its widgets: their states, as the kernel sends them."""

from __future__ import annotations

import json
import queue
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_client.manager import KernelManager

from tests.support import until

PATIENCE = 60.0  # seconds


class Kernel:
    def __init__(self, client: Any) -> None:
        self._client = client
        self.models: dict[str, dict[str, Any]] = {}  # state of each widget
        self.sent: list[str] = []  # every message that reached the browser, as JSON

    def run(self, code: str) -> str:
        """Run a cell; returns what it shows as text. An error is what IPython shows of it."""
        return self._until_idle(self._client.execute(code))

    def click(self, description: str, among: str | None = None) -> None:
        """Click at the button that is shown under these words; `among`: in the same row as this text."""
        self._tell(self.find(description, among), {"method": "custom", "content": {"event": "click"}})

    def set(self, model: str, **state: Any) -> None:
        self._tell(model, {"method": "update", "state": state, "buffer_paths": []})

    def find(self, description: str, among: str | None = None) -> str:
        """The one button of those that are shown."""
        found = [id for id in self.shown if self.models[id].get("description") == description]
        if among is not None:
            found = [id for id in found if among in self._row(id)]
        assert len(found) == 1, (description, among, self.text)
        state = self.models[found[0]]
        assert not state.get("disabled"), f"{description} can't be clicked at"
        assert self.models[_id(state["layout"])].get("display") != "none", f"{description} is hidden"
        return found[0]

    def kind(self, name: str) -> list[str]:
        """The widgets of a kind that are shown, from above."""
        return [id for id in self.shown if self.models[id]["_model_name"] == f"{name}Model"]

    @property
    def shown(self) -> list[str]:
        """All widgets on the screen, from above: those below the one that was displayed."""
        return list(self._below(self.root))

    @property
    def root(self) -> str:
        """The widget that was displayed last."""
        for message in reversed(self.sent):
            if found := re.search(r'"application/vnd.jupyter.widget-view\+json": .*?"model_id": "(\w+)"', message):
                return found[1]
        raise AssertionError("no widget was displayed")

    @property
    def text(self) -> str:
        """All words on the screen."""
        return "\n".join(str(self.models[id].get("value", "")) for id in self.kind("HTML"))

    def until(self, words: str, seconds: float = PATIENCE) -> None:
        """Wait until something is on the screen, also without anybody having done anything."""

        def there() -> bool:
            self._hear(0.1)
            return words in self.text

        until(there, seconds, f"{words!r} to be shown instead of {self.text}")

    def _below(self, id: str) -> Iterator[str]:
        yield id
        for child in self.models[id].get("children", []):
            yield from self._below(_id(child))

    def _row(self, button: str) -> str:
        """The words in the box that a button is in."""
        for id in self.shown:
            inside = [_id(child) for child in self.models[id].get("children", [])]
            if button in inside:
                return " ".join(str(self.models[one].get("value", "")) for one in inside)
        return ""

    def _tell(self, model: str, data: dict[str, Any]) -> None:
        content = {"comm_id": model, "data": data}
        message = self._client.session.msg("comm_msg", content)
        self._client.shell_channel.send(message)
        self._until_idle(message["header"]["msg_id"])

    def _until_idle(self, request: str) -> str:
        said: list[str] = []
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            self._take(message)
            content, kind = message["content"], message["msg_type"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if kind == "stream":
                said.append(content["text"])
            elif kind in ("execute_result", "display_data"):
                said.append(content["data"].get("text/plain", ""))
            elif kind == "error":
                said += content["traceback"]
            elif kind == "status" and content["execution_state"] == "idle":
                return "\n".join(said)

    def _hear(self, seconds: float) -> None:
        try:
            while True:
                self._take(self._client.get_iopub_msg(timeout=seconds))
        except queue.Empty:
            return

    def _take(self, message: dict[str, Any]) -> None:
        self.sent.append(json.dumps({key: message[key] for key in ("msg_type", "content")}))
        content = message["content"]
        if message["msg_type"] == "comm_open":
            self.models[content["comm_id"]] = dict(content["data"]["state"])
        elif message["msg_type"] == "comm_msg" and content["data"].get("method") == "update":
            self.models[content["comm_id"]] |= content["data"]["state"]


def _id(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")


@contextmanager
def kernel() -> Iterator[Kernel]:
    """A Python kernel in this environment, which ends with the block."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
