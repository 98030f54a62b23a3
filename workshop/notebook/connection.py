"""An ipyparallel client of a session's controller, for the notebook that calls functions on its ranks."""

from __future__ import annotations

import os
import signal
import socket
import time
import warnings
from collections.abc import Collection
from contextlib import suppress

import ipyparallel as ipp

from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.store.records import SessionRecord

CONNECT = 15.0  # seconds within which ranks must have answered
ARRIVAL = 0.3  # seconds within which a rank's line is here, once there is a way

Who = tuple[tuple[int, str, int], ...]  # rank, host and process of each


class Ranks:
    """A line to the ranks that are up: an ipyparallel client, and their engines' ids in rank order."""

    def __init__(self, client: ipp.Client, ids: list[int]) -> None:
        self.client = client
        self.ids = ids
        self._closed = False

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def view(self) -> ipp.DirectView:
        """A view of all ranks, in rank order."""
        return self.client.direct_view(self.ids)

    @property
    def alive(self) -> bool:
        """Whether the controller still counts them all; it takes half a second to notice the death of one."""
        return not self._closed and set(self.ids) <= set(self.client.ids)

    def interrupt(self, ids: Collection[int]) -> None:
        """Send SIGINT to these engines, never to the launcher, which would end all of them."""
        with suppress(ipp.error.IPythonError, OSError, ValueError, KeyError):  # some may end just now
            if alive := [id for id in ids if id in self.client.ids]:
                self.client.send_signal(signal.SIGINT, targets=alive, block=False)

    def close(self) -> None:
        self._closed = True
        with suppress(Exception):  # its controller may be gone
            self.client.close(linger=0)


def _until_heard(view: ipp.DirectView) -> None:
    """Wait until the ranks' output arrives here. It travels on a line of its own, which is ready some moments after the
    ranks answer; earlier output would be lost. Raises TimeoutError."""
    deadline = time.monotonic() + CONNECT
    while time.monotonic() < deadline:
        outputs = view.apply_async(print, "heard")
        outputs.get(CONNECT)
        soon = time.monotonic() + ARRIVAL
        while time.monotonic() < soon:
            if all(outputs.stdout):
                return
            time.sleep(0.005)
    raise TimeoutError


def who(session: SessionRecord) -> Who:
    """The hosts and processes of a session's ranks, in rank order; empty where no ranks are up."""
    reports = (session.rank_map or {}).get("ranks", ())
    return tuple(sorted((report["rank"], report["host"], report["pid"]) for report in reports))


def connected(session: SessionRecord) -> Ranks:
    """Connect to the ranks of a session. Raises WorkshopError."""
    profile = config.session_folder(session.id) / "profile"
    client: ipp.Client | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about profiles that a notebook's user doesn't have
            file = profile / "security" / "ipcontroller-client.json"
            client = ipp.Client(str(file), profile_dir=str(profile), timeout=CONNECT)
        view = client[:]
        pids, hosts = view.apply_async(os.getpid), view.apply_async(socket.gethostname)
        engines = dict(zip(zip(hosts.get(CONNECT), pids.get(CONNECT), strict=True), view.targets, strict=True))
        _until_heard(view)
        return Ranks(client, [engines[host, pid] for _, host, pid in who(session)])
    except (OSError, TimeoutError, KeyError, ipp.error.IPythonError) as error:
        if client is not None:
            with suppress(Exception):
                client.close(linger=0)
        raise WorkshopError(
            f"The ranks of this notebook don't answer ({type(error).__name__}); run the cell again."
        ) from error
