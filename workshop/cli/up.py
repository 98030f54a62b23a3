"""Bring up a session and the dashboard, print their links, and end both on Ctrl-C."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from workshop.cli import common, sites


def up(
    name: Annotated[str, typer.Option("--session", metavar="NAME", help="The session's name.")] = "workshop",
    ranks: common.Ranks = None,
    map_by: common.MapBy = None,
    per_resource: common.PerResource = None,
    cores_per_rank: common.CoresPerRank = None,
    bind_to: common.BindTo = None,
    threads: common.ThreadsPerRank = None,
    env: common.Environment = None,
    hosts: common.Hosts = None,
    mpi: common.Mpi = None,
    oversubscribe: common.Oversubscribe = None,
    address: sites.Address = None,
    slurm: sites.Slurm = False,
    partition: sites.Partition = None,
    account: sites.Account = None,
    time: sites.Time = None,
    nodes: sites.Nodes = None,
    wait: sites.Wait = None,
    template: sites.Template = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where the dashboard listens; others can reach it only if you say so."),
    ] = "127.0.0.1",
    port: Annotated[str, typer.Option(metavar="N", help="The dashboard's port.")] = "8501",
    as_json: common.JSON = False,
) -> None:
    from workshop.session.supervisor import Supervisor, check_port, only_one
    from workshop.store.store import Store
    from workshop.web.auth import new_secrets

    placement = common.placement_from(
        {}, ranks, map_by, per_resource, cores_per_rank, bind_to, threads, env, hosts, mpi, oversubscribe
    )
    at = sites.site_from(placement, address, slurm, partition, account, time, nodes, wait, template)
    err = common.stderr()
    with only_one():
        number = check_port(host, port)
        store = Store.open()
        supervisor = Supervisor(store, name, placement, host, number, err.print, at)
        for asked in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(asked, lambda *_: supervisor.ending.set())
        try:
            supervisor.start()
            token, code = new_secrets(store)
            links = {"instructor": f"{supervisor.url}/?token={token}", "learners": f"{supervisor.url}/join?code={code}"}
            if as_json:
                common.answer({"session": name, "url": supervisor.url, "class_code": code, "links": links})
            else:
                print(f"\n  Instructor  {links['instructor']}\n  Learners    {links['learners']}", end="")
                print(f"\n  Class code  {code}\n", flush=True)
            err.print("Ctrl-C ends everything.")
            supervisor.watch()
        finally:
            err.print("Ending the session and the dashboard ...")
            supervisor.stop()
            err.print("Everything has ended.")


def doctor(hosts: common.Hosts = None, as_json: common.JSON = False) -> int:
    """Check this machine, and other hosts: each line is ok, or the fix in one sentence."""
    from rich.console import Console

    from workshop import doctor

    checks = doctor.checks() if hosts is None else doctor.hosts(common.read_hosts(hosts))
    if as_json:
        common.answer(doctor.as_json(checks))
    else:
        doctor.render(checks, Console(highlight=False))
    return 0 if all(check.ok for check in checks if check.needed) else 1
