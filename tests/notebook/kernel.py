"""A real kernel, and what a browser would know of it: the outputs of its cells, displays that are drawn anew among
them, and the answers of a quiz, as the kernel sends them."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager

from tests.support import limit, until

PATIENCE = 120.0  # seconds that an idle machine would never need


@dataclass
class Cell:
    """What a browser shows below a cell that was sent to the kernel."""

    request: str
    code: str
    outputs: list[dict[str, Any]] = field(default_factory=list)  # data of what was printed and displayed, in order
    error: str = ""  # as IPython shows it
    drawings: int = 0  # how often something was displayed or drawn anew
    ended: bool = False
    _places: dict[str, int] = field(default_factory=dict)
    _stream: tuple[str, int] | None = None  # the stream of the last output, and how many outputs there were with it

    @property
    def text(self) -> str:
        """All of it as text, the error last."""
        shown = [output.get("text/plain", "") for output in self.outputs]
        return "\n".join([*filter(None, shown), *([self.error] if self.error else [])])

    @property
    def html(self) -> str:
        return "\n".join(output.get("text/html", "") for output in self.outputs)

    def take(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "stream":
            if self._stream == (content["name"], len(self.outputs)):  # its next part; the kernel sends some at a time
                self.outputs[-1]["text/plain"] += content["text"]
            else:
                self.outputs.append({"text/plain": content["text"]})
            self._stream = (content["name"], len(self.outputs))
        elif kind in ("execute_result", "display_data", "update_display_data"):
            self.drawings += 1
            id = content.get("transient", {}).get("display_id")
            if kind == "update_display_data":
                self.outputs[self._places[id]] = content["data"]
            else:
                self._places |= {id: len(self.outputs)} if id else {}
                self.outputs.append(content["data"])
        elif kind == "error":
            self.error = "\n".join(content["traceback"])
        elif kind == "status":
            self.ended = content["execution_state"] == "idle"


class Kernel:
    def __init__(self, client: Any, manager: Any = None) -> None:
        self._client = client
        self._manager = manager
        self._widget = ""  # the number of the quiz that was shown last
        self.sent: list[str] = []  # every message that reached the browser, as JSON

    def run(self, code: str) -> str:
        """Run a cell; returns what it shows as text. An error is what IPython shows of it."""
        return self.cell(code).text

    def begin(self, code: str) -> Cell:
        """Send a cell, and don't wait for its end."""
        return Cell(self._client.execute(code), code)

    def cell(self, code: str, seconds: float = PATIENCE) -> Cell:
        """Run a cell; returns what is shown below it."""
        return self.end(self.begin(code), seconds)

    def end(self, cell: Cell, seconds: float = PATIENCE) -> Cell:
        """Wait until a cell has ended."""
        return self.sees(cell, lambda: cell.ended, seconds)

    def sees(self, cell: Cell, condition: Callable[[], bool], seconds: float = PATIENCE) -> Cell:
        """Wait until a condition about what is shown below a cell is true."""

        def there() -> bool:
            self._hear(0.1, cell, condition)
            assert condition() or not cell.ended, f"the cell ended with {cell.text!r}"
            return condition()

        until(there, seconds, f"what a cell should show: {cell.code!r}")
        return cell

    def interrupt(self) -> None:
        """Press the stop button."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """End the kernel's process at once, and begin with a new one, as Jupyter does where a kernel doesn't answer."""
        self._manager.restart_kernel(now=True)
        self._client.wait_for_ready(timeout=limit(PATIENCE))

    def ask(self, act: str, **values: Any) -> dict[str, Any]:
        """What the kernel answers to the script of the quiz that was shown last."""
        content = {
            "comm_id": self._widget,
            "data": {"method": "custom", "content": {"ref": act, "act": act, "values": values}},
        }
        message = self._client.session.msg("comm_msg", content)
        self._client.shell_channel.send(message)
        self.end(Cell(message["header"]["msg_id"], ""))
        answer = json.loads(self.sent[-2])["content"]["data"][
            "content"
        ]  # the last message says that the kernel is idle
        assert answer["ref"] == act
        return answer

    def _hear(self, seconds: float, cell: Cell | None = None, enough: Callable[[], bool] = lambda: False) -> None:
        """Take what has come, until nothing more comes for some time or it is enough: messages may come so fast, or
        so many at once, that the end of a cell would be among those that are taken together."""
        try:
            while True:
                message = self._client.get_iopub_msg(timeout=seconds)
                self._take(message)
                if cell is not None and message["parent_header"].get("msg_id") == cell.request:
                    cell.take(message["msg_type"], message["content"])
                    if cell.ended or enough():
                        return
        except queue.Empty:
            return

    def _take(self, message: dict[str, Any]) -> None:
        self.sent.append(json.dumps({key: message[key] for key in ("msg_type", "content")}))
        if message["msg_type"] == "comm_open" and "scripts" in message["content"]["data"]["state"]:
            self._widget = message["content"]["comm_id"]


@contextmanager
def kernel(now: bool = True) -> Iterator[Kernel]:
    """A Python kernel in this environment, which ends with the block: at once, or (`now` is False) as it is asked."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=limit(PATIENCE))
        yield Kernel(client, manager)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=now)
