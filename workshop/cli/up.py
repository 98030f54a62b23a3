"""Bring up a session, the dashboard and JupyterLab. Their links are printed, and Ctrl-C ends them all."""

from __future__ import annotations

import ipaddress
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core import config
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.notebook.jupyter.child import JupyterLab
    from workshop.sessions.supervisor import ChildProcess
    from workshop.store.store import Store
    from workshop.web.address import Dashboard

Recording = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="With --replay: a recording that `workshop record` has made.")
]
Replay = Annotated[
    bool,
    typer.Option("--replay", help="Show a recorded session, without a cluster: FILE, or the one that comes with this."),
]


def show_recording(file: str | None, host: str, port: str, as_json: bool) -> None:
    """Show a recording (None: the one that comes with the project) until somebody asks for an end. Raises BadInput."""
    from workshop.cli import record
    from workshop.sessions.supervisor import check_port
    from workshop.store.sessions import recorded
    from workshop.web.address import Dashboard

    if file == "":
        raise BadInput("A recording is given without --replay, which shows it.")
    dashboard = Dashboard(host, check_port(host, port), common.stderr().print)
    path = Path(file) if file else record.shipped()
    with record.replayed(path) as store:
        origin = recorded(store.database)
        assert origin is not None, "just loaded"
        dashboard.say(origin.words)
        keep_up(store, [dashboard], dashboard, None, store.sessions()[0].name, as_json)


_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?", re.I)


@common.grouped
def up(
    recording: Recording = None,
    name: Annotated[str, typer.Option("--session", metavar="NAME", help="The session's name.")] = "workshop",
    *,
    where: common.Where,
    site: common.Site,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where the dashboard listens; others can reach it only if you say so."),
    ] = "127.0.0.1",
    port: Annotated[str, typer.Option(metavar="N", help="The dashboard's port.")] = "8501",
    framed_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Whose pages may show the dashboard in a frame, besides JupyterLab's own: a JupyterHub's, like "
            "http://lab.example.org:8000. Can be given several times.",
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of a reverse proxy in front of the dashboard, such as 127.0.0.1. Its X-Forwarded-For and "
            "X-Forwarded-Prefix are then believed: limits of visitors hold for each one's own address. Without this "
            "option nobody's are, and all visitors behind a proxy are one address.",
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="The path below which a proxy shows the dashboard, such as /node/n1/8501; it may strip it or not.",
        ),
    ] = "",
    lab: Annotated[bool, typer.Option("--lab/--no-lab", help="Whether to start JupyterLab, too.")] = True,
    lab_port: Annotated[str | None, typer.Option(metavar="N", help="JupyterLab's port; a free one without it.")] = None,
    replay: Replay = False,
    as_json: common.JSON = False,
) -> None:
    if replay or recording is not None:
        return show_recording(recording if replay else "", host, port, as_json)

    from workshop.cli.installation.horovod import HorovodBuild
    from workshop.mpi import horovod
    from workshop.sessions.supervisor import ConductorProcess, check_port, only_one
    from workshop.web.address import Dashboard, secrets_of_environment, service_prefix
    from workshop.web.prefix import checked

    placement = common.placement_from({}, **where)
    at = common.site_from(placement, **site)
    say = common.stderr().print
    with only_one():
        dashboard = Dashboard(host, check_port(host, port), say)
        dashboard.framed_by = " ".join(_origins(framed_by or []))
        dashboard.proxy, dashboard.prefix = _address(proxy or ""), checked(prefix or service_prefix())
        dashboard.secrets = secrets_of_environment()
        jupyter = _jupyter(dashboard, lab_port) if lab else None
        store = common.store()
        children: list[ChildProcess] = [ConductorProcess(store, name, placement, say, at), dashboard]
        if jupyter is not None:
            children.append(jupyter)
        if config.in_checkout() and horovod.build().state != "built":
            children.append(HorovodBuild(say))
        keep_up(store, children, dashboard, jupyter, name, as_json)


def _jupyter(dashboard: Dashboard, port: str | None) -> JupyterLab:
    """JupyterLab with a panel for the dashboard, whose pages it may show."""
    from workshop.notebook.jupyter.child import JupyterLab

    jupyter = JupyterLab.asked_for(port, dashboard.say, dashboard.port)
    jupyter.dashboard = dashboard.url_here
    dashboard.framed_by = f"{jupyter.origins} {dashboard.framed_by}".strip()
    return jupyter


def _origins(texts: Sequence[str]) -> list[str]:
    """Origins as a policy names them. Raises BadInput for anything else, which could widen the policy."""
    origins = [text.rstrip("/") for text in texts]
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise BadInput(f"--framed-by is {origin!r:.80}; it should be like http://lab.example.org:8000.")
    return origins


def _address(text: str) -> str:
    """The address of one proxy. Raises BadInput for anything else, such as a * that would believe everybody."""
    try:
        return text and str(ipaddress.ip_address(text))
    except ValueError:
        raise BadInput(f"--proxy is {text!r:.80}; it should be one IP address like 127.0.0.1.") from None


def doctor(
    hosts: common.Hosts = None,
    explain: Annotated[
        str | None, typer.Option(metavar="PACKAGE", help="Say which package Python imports, such as tensorflow.")
    ] = None,
    as_json: common.JSON = False,
) -> int:
    """Check this machine, and other hosts. Each line is ok, or the fix in one sentence."""
    from rich.console import Console

    from workshop.cli import doctor, package

    if explain is not None:
        checks = package.explain(explain)
    else:
        checks = doctor.checks() if hosts is None else doctor.hosts(common.read_hosts(hosts))
    if as_json:
        common.answer(doctor.as_json(checks))
    else:
        doctor.render(checks, Console(highlight=False))
    return 0 if all(check.ok for check in checks if check.needed) else 1


def keep_up(
    store: Store,
    children: Sequence[ChildProcess],
    dashboard: Dashboard,
    jupyter: JupyterLab | None,
    name: str,
    as_json: bool,
) -> None:
    """Start all children, print the links, keep them up until somebody asks for an end, and end them."""
    from workshop.sessions.supervisor import Supervisor
    from workshop.web import address
    from workshop.web.auth import new_secrets

    supervisor = Supervisor(children, dashboard.say)
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, lambda *_: supervisor.ending.set())
    try:
        token, code = new_secrets(store)  # before anybody comes in: it logs everybody out
        supervisor.start()
        links = {"instructor": f"{dashboard.url}/?token={token}", "learners": f"{dashboard.url}/join?code={code}"}
        if jupyter is not None and jupyter.alive():
            links["jupyterlab"] = jupyter.link
            store.set_setting(address.JUPYTERLAB, jupyter.link)
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
        store.set_setting(address.JUPYTERLAB, "")
        supervisor.stop()
        dashboard.say("Everything has ended.")
