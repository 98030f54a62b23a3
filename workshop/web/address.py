"""Where this store's dashboard listens, for commands that link to its pages, and where learners find it; and its server
as a child of `workshop up`."""

from __future__ import annotations

import http.client
import os
import socket
import sys
import threading
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

import segno

from workshop.core import config
from workshop.core.parent_death import guarded
from workshop.sessions.supervisor import ChildProcess, serve, url_of, wait_answer
from workshop.store.store import Store

KEY = "dashboard_address"  # of the store's settings
HOST = "dashboard_host"  # where it was asked to listen
OWNER = "WORKSHOP_OWNER"  # the variable with a secret by which a proxy of this machine's owner lets the owner in
HUB = "JUPYTERHUB_"  # how the variables begin that JupyterHub sets
OWNER_HEADER = "X-Workshop-Owner"  # where that proxy sends it
JUPYTERLAB = "jupyterlab"  # its link, which holds its token: for the instructor alone
PATIENCE = 5.0  # seconds for an answer, of a machine that may be crowded
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy knows another 127.0.0.1
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # who listens everywhere is here under this name


def tell(store: Store, host: str, port: int, prefix: str = "") -> None:
    """Let the store know where its dashboard is about to listen."""
    name = ANYWHERE.get(host, host)
    store.set_setting(KEY, url_of(name, port) + prefix)
    store.set_setting(HOST, host)


def dashboard(store: Store) -> str | None:
    """The address of the dashboard, where one answers; None otherwise. One that has ended leaves its address."""
    address = store.setting(KEY)
    if not address:
        return None
    try:
        with _DIRECTLY.open(f"{address}/join", timeout=PATIENCE):
            return address
    except (OSError, ValueError, http.client.HTTPException):
        return None


def page(store: Store, run_id: int) -> str | None:
    """The address of a run's page, where a dashboard answers."""
    address = dashboard(store)
    return None if address is None else f"{address}/run?run={run_id}"


def for_learners(store: Store, visited: str) -> tuple[str, bool]:
    """The address at which learners find the dashboard, and whether other devices can reach it. `visited` is the
    address by which this browser knows the dashboard, "" where nobody knows: a name for this machine alone gives way to
    the machine's address in its network, where the dashboard listens there, too."""
    visited = visited or store.setting(KEY) or ""
    if not is_here_only(urlsplit(visited).hostname or ""):
        return visited, True
    host = _network_address() if (store.setting(HOST) or "") in ANYWHERE else ""
    stored = urlsplit(store.setting(KEY) or visited)
    return (url_of(host, stored.port) + stored.path, True) if host and stored.port else (visited, False)


def jupyterlab(store: Store, visited: str) -> str | None:
    """The link to JupyterLab, which listens on this machine alone, for a browser that is on this machine, too."""
    return (store.setting(JUPYTERLAB) or None) if is_here_only(urlsplit(visited).hostname or "") else None


def is_here_only(host: str) -> bool:
    """Whether a host's name or address means this machine to itself alone."""
    with suppress(ValueError):
        return ip_address(host).is_loopback or host in ANYWHERE
    return host in ("", "localhost") or host.endswith(".localhost")


def _network_address() -> str:
    """The address from which this machine reaches others; "" where it has none. Nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # an address for examples; any one outside would do
        host = str(probe.getsockname()[0])
        return "" if is_here_only(host) else host
    return ""


@lru_cache(maxsize=64)
def qr_code(text: str) -> str:
    """A QR code as an SVG, in a data URI."""
    return str(segno.make(text).svg_data_uri(border=2, scale=8))


def service_prefix() -> str:
    """The path below which JupyterHub shows this process, where it has started it as a service; "" elsewhere, also in
    somebody's JupyterLab in a hub."""
    return os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "") if "JUPYTERHUB_SERVICE_NAME" in os.environ else ""


def secrets_of_environment() -> dict[str, str]:
    """The variables for the dashboard alone. They leave this process's environment, so other children lack them."""
    return {name: os.environ.pop(name) for name in list(os.environ) if name == OWNER or name.startswith(HUB)}


READY = 60.0  # seconds


@dataclass
class Dashboard(ChildProcess):
    """The dashboard's server. Only pages of `framed_by` (origins) may show it in a frame, and only a `proxy` (an
    address) is believed from where requests come. Visitors find it below the path `prefix`. `secrets` are variables of
    its process alone."""

    host: str
    port: int
    say: Callable[[str], None]
    framed_by: str = ""
    proxy: str = ""
    prefix: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    name = "dashboard"
    answers = "The dashboard answers"
    needed = True

    @property
    def url(self) -> str:
        return url_of(self.host, self.port) + self.prefix

    @property
    def url_here(self) -> str:
        """Its address for this machine, also where it listens on all of its addresses."""
        return url_of(ANYWHERE.get(self.host, self.host), self.port) + self.prefix

    def start(self) -> None:
        if self._process is None:
            self.say("Starting the dashboard")
        command = [sys.executable, "-P", "-m", "workshop.web.server", "--host", self.host, "--port", str(self.port)]
        if self.framed_by:
            command += ["--framed-by", self.framed_by]
        if self.proxy:
            command += ["--proxy", self.proxy]
        if self.prefix:
            command += ["--prefix", self.prefix]
        self._process = serve(guarded(command), config.home() / "dashboard.log", self.secrets)

    def wait_ready(self, ending: threading.Event) -> None:
        assert self._process is not None, "started before"
        log = config.home() / "dashboard.log"
        wait_answer("The dashboard", f"{self.url_here}/join", self._process, READY, log, ending)
