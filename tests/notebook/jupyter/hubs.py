"""A real JupyterHub with its proxy, on this machine, and a learner's kernel in it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from websockets.sync.client import connect

from tests.notebook.jupyter.lab import executed
from tests.support import limit, need, until
from workshop.core.ports import free_ports

PATIENCE = limit(120)  # seconds
CLASS = """
from workshop.notebook.jupyter import hub

hub.configure(c, database={database!r}, dashboard="http://127.0.0.1:8501", memory="6G", servers=3)
c.Authenticator.allow_all = True
"""
PLACES = """
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.JupyterHub.bind_url = "http://127.0.0.1:{public}/class/"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{inside}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.JupyterHub.services = [*c.JupyterHub.get("services", []), dict(name="tests", api_token={token!r})]
scopes = ["admin:users", "admin:servers", "access:servers"]
roles = c.JupyterHub.get("load_roles", [])
c.JupyterHub.load_roles = [*roles, dict(name="tests", services=["tests"], scopes=scopes)]
"""


@dataclass(frozen=True)
class Hub:
    """A hub that is up. `homes` has a folder for each learner."""

    url: str
    token: str
    password: str
    homes: Path
    log: Path
    process: subprocess.Popen[bytes]

    def start(self, learner: str) -> None:
        """Start a learner's server, and wait until it answers."""
        with self.client() as client:
            if client.get(f"{self.url}/hub/api/users/{learner}").status_code == 404:
                client.post(f"{self.url}/hub/api/users/{learner}").raise_for_status()
            client.post(f"{self.url}/hub/api/users/{learner}/server").raise_for_status()
            until(lambda: self._answers(client, learner), 120, f"{learner}'s server; {self.log.read_text()}")

    def client(self) -> httpx.Client:
        return httpx.Client(headers={"Authorization": f"token {self.token}"}, timeout=PATIENCE)

    def _answers(self, client: httpx.Client, learner: str) -> bool:
        user = client.get(f"{self.url}/hub/api/users/{learner}").json()
        return bool(user["servers"].get("", {}).get("ready"))

    def server(self, learner: str) -> str:
        return f"{self.url}/user/{learner}"

    def run(self, learner: str, code: str) -> str:
        """Run a cell in a new kernel of a learner, which ends afterwards; returns what it shows as text."""
        with self.client() as client:
            kernel = client.post(f"{self.server(learner)}/api/kernels", json={"name": "python3"}).raise_for_status()
            id = kernel.json()["id"]
            try:
                address = f"{self.server(learner)}/api/kernels/{id}/channels".replace("http", "ws", 1)
                headers = {"Authorization": f"token {self.token}"}
                with connect(address, additional_headers=headers, max_size=None, open_timeout=PATIENCE) as line:
                    return executed(line, code)
            finally:
                client.delete(f"{self.server(learner)}/api/kernels/{id}").raise_for_status()

    def processes(self) -> list[psutil.Process]:
        """What still runs of any learner."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HOME", "").startswith(str(self.homes)) and process.is_running():
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


@contextmanager
def hub(folder: Path, database: str, site: str = "", **variables: str) -> Iterator[Hub]:
    """Start a hub on a store; skips (in CI: fails) where its proxy is not installed. `site` is a configuration in which
    the hub is at http://127.0.0.1:8000; `variables` are the hub's."""
    proxy = "configurable-http-proxy"
    need(shutil.which(proxy), f"{proxy} (apt-get install node-configurable-http-proxy)")
    public, inside, api = free_ports(3)
    token, password, homes = secrets.token_hex(16), secrets.token_hex(8), folder / "homes"
    homes.mkdir(parents=True)
    said = site.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{public}/class")
    written = (said or CLASS.format(database=database)) + PLACES.format(
        password=password,
        homes=str(homes / "{username}"),
        public=public,
        inside=inside,
        proxy=api,
        token=token,
    )
    (folder / "jupyterhub_config.py").write_text(written)
    log = folder / "hub.log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", "jupyterhub_config.py"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=_environment() | {"CLASS_PASSWORD": password} | variables,
        )
    up = Hub(f"http://127.0.0.1:{public}/class", token, password, homes, log, process)
    try:
        until(lambda: process.poll() is not None or _there(up), 120, f"the hub to answer; {log.read_text()}")
        assert process.poll() is None, log.read_text()
        yield up
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(limit(60))
        finally:
            for left in [process, *up.processes()]:
                left.kill()


def _environment() -> dict[str, str]:
    """Debian's proxy finds its modules also with a Node.js that isn't Debian's."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "WORKSHOP_HOME")}
    return kept | {"NODE_PATH": os.pathsep.join(filter(None, [kept.get("NODE_PATH"), "/usr/share/nodejs"]))}


def _there(up: Hub) -> bool:
    try:
        return httpx.get(f"{up.url}/hub/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
