"""Launch, list, show, reset and stop sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common

if TYPE_CHECKING:
    from rich.console import Console

    from workshop.placement import Placement
    from workshop.store.records import SessionRecord

app = typer.Typer(help=__doc__, no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The session's name: lower-case letters, digits and -.")]


@app.command()
def start(
    name: Name = "workshop",
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
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of this host, by which other hosts and nodes reach it.")
    ] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Run it in an allocation of Slurm.")] = False,
    partition: Annotated[str | None, typer.Option(metavar="NAME", help="Slurm's partition.")] = None,
    account: Annotated[str | None, typer.Option(metavar="NAME", help="Slurm's account.")] = None,
    time: Annotated[str | None, typer.Option(metavar="MINUTES", help="How long Slurm gives the session.")] = None,
    nodes: Annotated[str | None, typer.Option(metavar="N", help="Nodes of Slurm for the ranks.")] = None,
    wait: Annotated[str | None, typer.Option(metavar="MINUTES", help="How long to wait in Slurm's queue.")] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An sbatch script to use instead (docs/slurm.md).")
    ] = None,
    as_json: common.JSON = False,
) -> None:
    """Launch a session, which runs until it is stopped."""
    from workshop.cli.show import session_json
    from workshop.session import lifecycle, site
    from workshop.store.store import Store

    placement = common.placement_from(
        {}, ranks, map_by, per_resource, cores_per_rank, bind_to, threads, env, hosts, mpi, oversubscribe
    )
    where = _on_slurm(slurm, placement, partition, account, time, nodes, wait, template, address)
    where = _on_hosts(placement, address, where)
    store = Store.open()
    err = common.stderr()
    session, conductor = lifecycle.start_session(store, name, placement, at=where or site.LOCAL)
    err.print(f"Starting session {name}: {placement.describe()}")
    ready = lifecycle.wait_ready(store, session, conductor, on_look=_said(err))
    if as_json:
        common.answer(session_json(ready))
    else:
        err.print(f"Session {name} is ready; stop it with: workshop session stop {name}")


def _on_slurm(
    slurm: bool,
    placement: Placement,
    partition: str | None,
    account: str | None,
    time: str | None,
    nodes: str | None,
    wait: str | None,
    template: Path | None,
    address: str | None,
) -> dict[str, Any] | None:
    """The site that --slurm and what goes with it ask for; None without. Raises BadInput."""
    from workshop.errors import BadInput
    from workshop.session.slurm import commands, script

    given = {
        "partition": partition, "account": account, "time": time, "nodes": nodes, "wait": wait, "template": template,
    }  # fmt: skip
    if not slurm:
        if lost := next((name for name, value in given.items() if value is not None), None):
            raise BadInput(f"--{lost} is for a session on Slurm; give --slurm, too.")
        return None
    commands.installed()
    return script.options(
        placement,
        partition=partition,
        account=account,
        time=time,
        nodes=nodes,
        wait=wait,
        template=template,
        address=address,
    )


def _on_hosts(placement: Placement, address: str | None, where: dict[str, Any] | None) -> dict[str, Any] | None:
    """The site that --hosts asks for, reached over ssh; what was asked for before without it. Raises BadInput."""
    from workshop.errors import BadInput
    from workshop.session import hosts

    if not placement.hosts:
        if address is not None and where is None:
            raise BadInput("--address is for a session on several hosts; give --hosts or --slurm, too.")
        return where
    return hosts.options(placement.hosts, address)


def _said(err: Console) -> Callable[[SessionRecord], None]:
    """Print what a session that starts says that it is doing, as often as that changes."""
    last = ""

    def look(session: SessionRecord) -> None:
        nonlocal last
        if session.state == "starting" and session.message not in ("", last):
            last = session.message
            err.print(f"{last[0].upper()}{last[1:]}")

    return look


@app.command("list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Stopped and private sessions, too.")] = False,
    as_json: common.JSON = False,
) -> None:
    """List sessions."""
    from rich.console import Console

    from workshop.cli.show import session_json, sessions_table
    from workshop.store.store import Store

    sessions = [s for s in Store.open().sessions() if everything or not (s.private or s.state == "stopped")]
    if as_json:
        common.answer([session_json(session) for session in sessions])
    elif sessions:
        Console(highlight=False).print(sessions_table(sessions))
    else:
        common.stderr().print("No session is up; launch one with: workshop session start")


@app.command()
def show(name: Name = "workshop", as_json: common.JSON = False) -> None:
    """Show one session: its state, its ranks, its queue."""
    from rich.console import Console

    from workshop.cli.show import runs_table, session_json, sessions_table
    from workshop.store.store import Store

    store = Store.open()
    session = store.session(name)
    queue = store.queue(session.id)
    if as_json:
        common.answer(session_json(session) | {"queue": [run.as_json() for run in queue]})
        return
    out = Console(highlight=False)
    out.print(sessions_table([session]))
    for rank in (session.rank_map or {"ranks": []})["ranks"]:
        units = ", ".join(map(str, rank["units"]))
        out.print(f"  rank {rank['rank']}  on {rank['host']}, units {units}, process {rank['pid']}", markup=False)
    if queue:
        out.print(runs_table(queue))


@app.command()
def reset(name: Name = "workshop") -> None:
    """End the session's ranks and start new ones; a run that is under way is cancelled, the queue stays."""
    from workshop.errors import BadInput
    from workshop.store.store import Store

    store = Store.open()
    session = store.session(name)
    if session.state in ("stopped", "failed", "lost"):
        raise BadInput(f"Session {name} is {session.state}; start it with: workshop session start {name}")
    store.request_reset(session.id)
    common.stderr().print(f"Session {name} starts its ranks anew.")


@app.command()
def stop(name: Name = "workshop", as_json: common.JSON = False) -> None:
    """Stop a session and every process of it."""
    from workshop.cli.show import session_json
    from workshop.session import lifecycle
    from workshop.store.store import Store

    stopped = lifecycle.stop_session(Store.open(), name)
    if as_json:
        common.answer(session_json(stopped))
    else:
        common.stderr().print(f"Session {name} is stopped.")
