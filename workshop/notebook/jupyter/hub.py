"""JupyterHub for a class: what a jupyterhub_config.py says to give everybody the labs, limits, and the shared session.

    from workshop.notebook.jupyter import hub

    hub.configure(c, database="postgresql://class@db.example.org/workshop", dashboard="http://lab.example.org:8501")

Each learner has a JupyterLab with copies of the notebooks, and ranks for cells that end with their kernel. Runs go to
the session that the instructor has started on the same database, within its limits. See docs/jupyterhub.md.

`python -m workshop.notebook.jupyter.hub` is a learner's JupyterLab, which JupyterHub starts in place of its own
`jupyterhub-singleuser`: it brings the learner's folder up to date and becomes that one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.parent_death import guarded
from workshop.notebook.jupyter import settings
from workshop.notebook.jupyter.settings import DASHBOARD, UP

MEMORY = "4G"  # of a learner's server, kernels and ranks
CORES = 2.0  # that they may use
IDLE = 60.0  # minutes after which what nobody uses is ended
SERVERS, STARTING = 60, 8  # at most: at once, and in the middle of their start
READY = 120  # seconds within which a server must answer
SERVICE = "workshop"  # its name in the hub, and in its address
UNSAID = 'exec "$0" "$@" >/dev/null'  # links with a token and the class code are not for the hub's log
COMMAND = [sys.executable, "-P", "-m", "workshop.notebook.jupyter.hub"]


def configure(
    c: Any,
    *,
    database: str | None = None,
    dashboard: str | None = None,
    memory: str = MEMORY,
    cores: float = CORES,
    idle: float = IDLE,
    servers: int = SERVERS,
    environment: Mapping[str, str] | None = None,
    service: Sequence[str] | None = None,
) -> None:
    """Fill in JupyterHub's configuration `c`. Later settings of the site replace these.

    `database` is the store's URL, that of the session which everybody shares (default: that of this process); learners'
    servers must reach it. `dashboard` is its address as a learner's browser sees it, without a token. `memory` (like
    4G) and `cores` are what a learner may have; spawners that limit nothing leave it to the workshop, which ends ranks
    beyond the memory. `idle` are minutes. `environment` are more variables of learners' servers. `service` are
    options of a `workshop up` that the hub runs as its service *workshop*, at services/workshop/ below its address: who
    is in the hub is in the class, and the hub's admins are instructors. Raises BadInput.
    """
    variables = {"WORKSHOP_DATABASE_URL": database or config.database_url(), "WORKSHOP_MEMORY": memory}
    if not re.fullmatch(r"\d+(\.\d+)?[KMGT]", memory):  # as the workshop and JupyterHub both read it
        raise BadInput(f"memory is {memory!r}; it should be a size like 4G or 800M.")
    if dashboard is not None:
        if not re.fullmatch(r"https?://[^?@]+", dashboard):  # a token would let every learner in as instructor
            like = "an address like http://lab.example.org:8501, without a token or anything behind it"
            raise BadInput(f"dashboard should be {like}.")
        variables[DASHBOARD] = dashboard.rstrip("/")
    spawner = c.Spawner
    spawner.cmd = COMMAND
    spawner.environment = variables | dict(environment or {})
    spawner.default_url = "/lab"
    spawner.mem_limit, spawner.cpu_limit = memory, cores
    spawner.start_timeout = spawner.http_timeout = READY
    seconds = round(60 * idle)
    spawner.args = [
        f"--ServerApp.shutdown_no_activity_timeout={seconds}",
        f"--MappingKernelManager.cull_idle_timeout={seconds}",
        f"--MappingKernelManager.cull_interval={max(seconds // 10, 1)}",
        f"--TerminalManager.cull_inactive_timeout={seconds}",
    ]
    if service is not None:
        _serve(c, service, {"WORKSHOP_DATABASE_URL": variables["WORKSHOP_DATABASE_URL"]})
    c.JupyterHub.active_server_limit = servers
    c.JupyterHub.concurrent_spawn_limit = STARTING
    c.JupyterHub.cleanup_servers = c.JupyterHub.cleanup_proxy = True  # nothing outlives the hub


def _serve(c: Any, options: Sequence[str], variables: Mapping[str, str]) -> None:
    """Add the service, and let every account open it. The site may have services and roles of its own."""
    words = [word for option in options for word in option.split("=", 1)]  # also --port=8600
    port = next((value for name, value in pairwise(words) if name == "--port"), "8501")
    class_variables = {name: value for name, value in os.environ.items() if name.startswith("WORKSHOP_")}
    up = ["-P", "-c", UP, "up", "--no-lab", "--proxy", "127.0.0.1", *options]
    service = {
        "name": SERVICE,
        "url": f"http://127.0.0.1:{port}",
        "command": guarded(["sh", "-c", UNSAID, sys.executable, *up]),
        "environment": class_variables | dict(variables),
        "oauth_no_confirm": True,
    }
    role = {"name": "user", "scopes": ["self", f"access:services!service={SERVICE}"]}
    for name, added in (("services", service), ("load_roles", role)):
        present = c.JupyterHub.get(name, [])
        if isinstance(present, list):
            c.JupyterHub[name] = [*present, added]
        else:  # what a site has appended to a list that isn't there yet
            present.append(added)


def main() -> None:
    os.umask(0o077)  # what a learner writes is for nobody else
    try:
        settings.prepare(lambda words: print(words, file=sys.stderr, flush=True))
        os.environ.update(settings.environment(os.environ.get(settings.DASHBOARD)))
    except WorkshopError as error:
        sys.exit(str(error))
    os.execv(sys.executable, [sys.executable, "-P", "-m", "jupyterhub.singleuser", *sys.argv[1:]])


if __name__ == "__main__":
    main()
