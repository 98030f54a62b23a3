"""ipyparallel's engine without its nanny, a Python process that ipyparallel starts beside each engine.

A nanny passes signals on and tells the controller when its engine has ended. Here the engine's own control thread sends
the signal, and the conductor tells the controller (`sessions.cluster`).
"""

from __future__ import annotations

import os
from typing import Any

from ipyparallel.engine.app import IPEngine


class Engine(IPEngine):  # type: ignore[misc]  # ipyparallel has no types
    name = "ipengine"

    async def complete_registration(self, *arguments: Any) -> None:
        await super().complete_registration(*arguments)
        self.kernel.control_handlers["signal_request"] = self._signal

    def _signal(self, stream: Any, ident: Any, parent: Any) -> None:
        """Called by the control thread, so also while the main thread runs a cell."""
        os.kill(os.getpid(), parent["content"]["sig"])
        self.session.send(stream, "signal_reply", {"status": "ok"}, parent=parent, ident=ident)


def main() -> None:
    """Become an engine. Command-line options are ipyparallel's own."""
    Engine.launch_instance(enable_nanny=False)
