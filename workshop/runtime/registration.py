"""Tells an ipyparallel controller that engines have ended, which it would notice after seconds without heartbeats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def unregister(client: Any, ids: Iterable[int]) -> None:
    """Waits for nothing; may be called by any thread. An engine that the controller doesn't count is left out by it."""
    gone = list(ids)

    def send() -> None:  # in the client's own thread, whose socket it is
        if not client._closed:
            for id in gone:
                client.session.send(client._query_stream, "unregistration_request", content={"id": id})

    client._io_loop.add_callback(send)
