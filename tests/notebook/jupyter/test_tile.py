"""The dashboard as a tile in somebody's own JupyterLab, with a real jupyter-server-proxy."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.affected import ROOT
from tests.conftest import leftovers
from tests.notebook.jupyter.lab import words
from tests.support import limit, until
from workshop.core.ports import free_port
from workshop.notebook.jupyter import tile
from workshop.sessions.supervisor import only_one
from workshop.store.store import Store
from workshop.web.auth import hashed

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(300))]
USER = "/user/ada%40example.org"  # as JupyterHub writes it
HTML = {"Accept": "text/html"}


def installed(folder: Path) -> str:
    """A folder with the metadata of this checkout, in front of the path: what `pip install` writes of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    described = folder / "distributed_training_workshop-0.1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in places.items())])
        for group, places in project["entry-points"].items()
    ]
    (described / "entry_points.txt").write_text("\n".join(groups))
    return os.pathsep.join([str(folder), str(ROOT)])


@contextmanager
def jupyterlab(home: Path, folder: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """A JupyterLab that nobody has configured, and a client with its token."""
    port, token = free_port(), secrets.token_hex(16)
    variables = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    variables |= {"PYTHONPATH": installed(folder / "site"), "JUPYTER_TOKEN": token, "JUPYTERHUB_USER": "ada"}
    options = [f"--port={port}", "--no-browser", "--allow-root", f"--ServerApp.base_url={USER}"]
    with (folder / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=folder,
            env=os.environ | variables,
            stdout=log,
            stderr=log,
        )
    headers = {"Authorization": f"token {token}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}{USER}", headers=headers, timeout=limit(150)) as client:
        try:
            until(lambda: process.poll() is not None or answers(client), 60, (folder / "lab.log").read_text())
            yield client, process
            assert "/?token=" not in (folder / "lab.log").read_text(), "the dashboard's link"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(limit(30))
            until(lambda: not leftovers(home), 60, "everything to end with JupyterLab")


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/api").status_code == 200
    except httpx.HTTPError:
        return False


def test_the_owner_comes_in_as_instructor_and_all_ends_with_jupyterlab(workshop_home: Path, tmp_path: Path) -> None:
    with jupyterlab(workshop_home, tmp_path) as (client, process):
        described = client.get("/server-proxy/servers-info").raise_for_status().json()["server_processes"]
        ours = next(server for server in described if server["name"] == tile.NAME)["launcher_entry"]
        assert ours["title"] == "Workshop" and "svg" in client.get(f"/server-proxy/icon/{tile.NAME}").text
        address = f"/{tile.NAME}"

        stranger = httpx.get(f"{client.base_url}{tile.NAME}/", headers=HTML)
        assert (stranger.status_code, stranger.headers["location"].partition("?")[0]) == (302, f"{USER}/login")
        come = client.get(f"{address}/", headers=HTML)
        assert (come.status_code, come.headers["location"]) == (303, "./"), come.text
        page = client.get(f"{address}/run", headers=HTML)
        assert page.status_code == 200 and "Streamlit" in page.text
        with Store.open() as store:
            cookie = next(cookie for cookie in client.cookies.jar if cookie.name.startswith("workshop_"))
            assert cookie.path == f"{USER}/{tile.NAME}"
            visitor = store.identity(hashed(cookie.value or ""))
            assert visitor is not None and visitor.role == "instructor"
            until(lambda: store.sessions() and store.sessions()[0].state == "ready", 120, "the session")
        line = f"{client.base_url}{tile.NAME}/live/session/workshop".replace("http", "ws", 1)
        headers = {"Authorization": client.headers["authorization"], "Cookie": f"{cookie.name}={cookie.value}"}
        with connect(line, additional_headers=headers, open_timeout=limit(30)) as socket:
            assert socket.recv(timeout=limit(30))

        # At its port there is no way in without the secret, and nobody but the dashboard's process knows it.
        port = cookie.name.partition("_")[2]
        for header in ({}, {"X-Workshop-Owner": ""}, {"X-Workshop-Owner": "guessed"}):
            refused = httpx.get(f"http://127.0.0.1:{port}/", headers=HTML | header)
            assert refused.headers["location"] == "./join" and "set-cookie" not in refused.headers
        with pytest.raises(InvalidStatus):
            connect(f"ws://127.0.0.1:{port}/live/session/workshop", open_timeout=limit(30))
        knowing = [one for one in leftovers(workshop_home) if "WORKSHOP_OWNER" in one.environ()]
        roles = {"workshop.sessions": 0, "workshop.engine": 0} | {"workshop.web.server": 0}
        for role in roles:
            roles[role] = sum(any(role in word for word in words(one)) for one in knowing)
        assert roles == {"workshop.sessions": 0, "workshop.engine": 0, "workshop.web.server": 1}

        process.kill()
        until(lambda: not leftovers(workshop_home), 60, "everything to end with JupyterLab")


def test_where_up_runs_already_the_tile_says_so_and_then_opens(workshop_home: Path, tmp_path: Path) -> None:
    with jupyterlab(workshop_home, tmp_path) as (client, _):
        with only_one():
            said = client.get(f"/{tile.NAME}/", headers=HTML)
            assert said.status_code == 503 and f"`workshop up` runs already (process {os.getpid()})" in said.text
        come = until(
            lambda: (answer := client.get(f"/{tile.NAME}/", headers=HTML)).status_code == 303 and answer,
            120,
            "the tile",
        )
        assert come.headers["location"] == "./"
