"""Requests of JupyterLab's page to its server: the labs, the dashboard's address, and a ticket for the dashboard. Also
how a cluster of its ipyparallel panel, or `ipp.Cluster()` in a notebook, starts ranks of our Open MPI.

The page gets in with a ticket, which is worth one visit within half a minute, so that no lasting secret is in any
address. A learner's JupyterLab gets none: learners come in with the class code.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ipyparallel.cluster.launcher import MPIEngineSetLauncher
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.ioloop import IOLoop

from workshop.core.errors import WorkshopError
from workshop.course import catalogue, learner
from workshop.mpi import openmpi
from workshop.notebook.jupyter.settings import DASHBOARD, LAUNCHER
from workshop.store.store import Store
from workshop.web import auth


def labs(root: Path) -> list[dict[str, str]]:
    """The labs whose notebook is in a learner's folder, in the order of the course. An unreadable lab has no tile;
    `workshop labs check` reports the reason."""
    return [
        {"number": str(lab.number), "title": lab.title, "path": path}
        for folder, lab in catalogue.readable()
        if (root / (path := catalogue.file_name(lab, folder))).is_file()
    ]


def ticket() -> str | None:
    """A ticket for the dashboard for this JupyterLab's owner; None for a learner, and where there is no store."""
    if learner.is_learner():
        return None
    try:
        with Store.open() as store:
            return auth.new_ticket(store)
    except WorkshopError:
        return None


class Course(APIHandler):
    """GET: the dashboard's address (or null) and the labs."""

    @web.authenticated
    async def get(self) -> None:
        root = Path(self.serverapp.root_dir) if self.serverapp else Path()
        lab_list = await IOLoop.current().run_in_executor(None, labs, root)
        self.finish(json.dumps({"dashboard": os.environ.get(DASHBOARD), "labs": lab_list}))


class Enter(APIHandler):
    """POST: a ticket for the dashboard, or null."""

    @web.authenticated
    async def post(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps({"ticket": await IOLoop.current().run_in_executor(None, ticket)}))


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Called by Jupyter's server."""
    base = url_path_join(serverapp.web_app.settings["base_url"], "workshop")
    handlers = [(url_path_join(base, "course"), Course), (url_path_join(base, "enter"), Enter)]
    serverapp.web_app.add_handlers(".*$", handlers)


class Engines(MPIEngineSetLauncher):
    """ipyparallel's launcher of engines, which first removes the files that killed mpiruns have left."""

    entrypoint_name = LAUNCHER  # in the cluster's file, from which the panel finds it again

    def start(self, n: int) -> Any:
        self.mpi_cmd = [openmpi.launcher()]
        return super().start(n)
