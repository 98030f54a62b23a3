"""Things to see on this machine that otherwise take several."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.demo.compare import LinkComparison
    from workshop.demo.link import Link
    from workshop.store.store import Store

app = typer.Typer(help=__doc__, no_args_is_help=True)
SESSION = "hosts"  # the name of a session that stays
WORKLOAD = "mnist"


@app.callback()
def demo() -> None:
    """Things to see on this machine that otherwise take several."""


@app.command()
def hosts(
    count: Annotated[int, typer.Option("--hosts", metavar="N", help="How many hosts.")] = 3,
    link: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="What each host can send, and get: 100mbit, 1gbit; default: no limit."),
    ] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long packets are under way: 0.5ms; needs netem.")
    ] = None,
    workload: Annotated[str | None, typer.Option(metavar="NAME", help=f"What to run; default: {WORKLOAD}.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Only bring them up, with a session, until that is stopped or Ctrl-C.")
    ] = False,
    as_json: common.JSON = False,
) -> int:
    """Emulate hosts with a slow link, and feel what it costs that ranks talk: the same run on one host and on two."""
    from workshop.demo.compare import compare
    from workshop.demo.link import parse

    limit = parse(link, latency)
    if keep and workload is not None:
        raise BadInput("With --keep nothing is run: leave --workload out, and run it in the session that is kept.")
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.default_int_handler)  # end as with Ctrl-C, which stops everything
    err = common.stderr()
    try:
        with common.store() as store:
            if keep:
                _keep(store, count, limit, as_json)
                err.print("The session was stopped; the hosts have ended, too.")
                return 0
            comparison = compare(store, count, limit, workload or WORKLOAD, err.print)
    except KeyboardInterrupt:
        err.print("The session and the hosts have ended.")
        return 130
    if as_json:
        common.answer(comparison.as_json())
    else:
        _show(comparison)
    return 0


def _keep(store: Store, count: int, limit: Link, as_json: bool) -> None:
    """Bring hosts up with a session, and wait for somebody to stop it. Raises WorkshopError where it ends otherwise."""
    from workshop.demo.hosts import EmulatedHosts
    from workshop.demo.session import session_on

    err = common.stderr()
    err.print(f"Bringing up {count} hosts; link: {limit.describe()}")
    with EmulatedHosts(count, limit) as emulated, session_on(emulated, store, SESSION, 2, private=False) as started:
        session = started.record
        if as_json:
            common.answer({"session": session.name, "hosts": emulated.names, "link": limit.describe()})
        err.print(f"Session {session.name} is ready on {', '.join(emulated.names)}. In another terminal:")
        err.print(f"  workshop run kmeans --session {session.name} --ranks {count}")
        err.print(f"  workshop session show {session.name}")
        err.print("Ctrl-C ends the session and the hosts.")
        started.wait()


def _show(comparison: LinkComparison) -> None:
    from workshop.core import words

    print(f"{comparison.workload} on emulated hosts, link: {comparison.link}\n")
    lines = {
        comparison.rows[0].unit or "speed": [f"{row.speed:,.0f}" if row.speed else "-" for row in comparison.rows],
        "talking and waiting": [
            f"{words.seconds(row.talking)} ({words.percent(row.share)})" if row.talking and row.share else "-"
            for row in comparison.rows
        ],
        "sent between hosts": [words.size(row.sent) for row in comparison.rows],
        "whole run": [words.seconds(row.seconds) for row in comparison.rows],
        "run": [str(row.run) for row in comparison.rows],
    }
    names = [row.name for row in comparison.rows]
    common.show_table(["", *names], [(title, *cells) for title, cells in lines.items()], names)
    print(f"\n{comparison.sentence}")
