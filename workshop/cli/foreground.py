"""What `workshop up` keeps up until somebody asks for an end: the dashboard, and the processes beside it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workshop.cli import common

if TYPE_CHECKING:
    from workshop.jupyter.child import JupyterLab
    from workshop.runtime.supervisor import Child
    from workshop.server.child import Dashboard
    from workshop.store.store import Store


def keep_up(
    store: Store, children: Sequence[Child], dashboard: Dashboard, jupyter: JupyterLab | None, name: str, as_json: bool
) -> None:
    """Start all children, print the links, keep them up until somebody asks for an end, and end them."""
    from workshop.runtime.supervisor import Supervisor
    from workshop.server.auth import new_secrets

    supervisor = Supervisor(children, dashboard.say)
    for asked in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(asked, lambda *_: supervisor.ending.set())
    try:
        supervisor.start()
        token, code = new_secrets(store)
        links = {"instructor": f"{dashboard.url}/?token={token}", "learners": f"{dashboard.url}/join?code={code}"}
        if jupyter is not None and jupyter.alive():
            links["jupyterlab"] = jupyter.link
        if as_json:
            common.answer({"session": name, "url": dashboard.url, "class_code": code, "links": links})
        else:
            print(f"\n  Instructor  {links['instructor']}\n  Learners    {links['learners']}\n  Class code  {code}")
            if "jupyterlab" in links:
                print(f"  JupyterLab  {links['jupyterlab']}\n              a shell with your rights: for you alone")
            print(flush=True)
        dashboard.say("Ctrl-C ends everything.")
        supervisor.watch()
    finally:
        dashboard.say("Ending everything ...")
        supervisor.stop()
        dashboard.say("Everything has ended.")
