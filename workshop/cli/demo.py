"""Things to see on this machine that otherwise take several."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.cli.emulation.session import HostsSession
    from workshop.store.store import Store

app = typer.Typer(name="demo", help=__doc__, no_args_is_help=True)
SESSION = "hosts"
SLOTS = 2  # ranks of a host
# A training that talks much, with enough steps to see the difference and few enough to wait for.
WORKLOAD = "mnist"
PARAMS = {"epochs": 100, "steps": 20, "trace": 0, "checkpoint": "off", "exchange": "mpi"}
VARY = {"map_by": ["slot", "node"]}  # both ranks on one host, and one on each of two


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
    keep: Annotated[
        bool, typer.Option("--keep", help="Only bring them up, with a session, until that is stopped or Ctrl-C.")
    ] = False,
    as_json: common.JSON = False,
) -> int:
    """Emulate hosts, and compare one host with two. A study runs a training with 2 ranks on one host and on two; over a
    slow link that shows what it costs that ranks talk."""
    from workshop.cli.emulation.hosts import EmulatedHosts
    from workshop.cli.emulation.link import parse
    from workshop.cli.emulation.session import session_on

    limit = parse(link)
    if count < 2:
        raise BadInput(f"hosts is {count}: comparing one host with two takes at least 2.")
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.default_int_handler)  # end as with Ctrl-C, which stops everything
    err = common.stderr()
    err.print(f"Bringing up {count} hosts; link: {limit.describe()}")
    try:
        with (
            common.store() as store,
            EmulatedHosts(count, limit) as emulated,
            session_on(emulated, store, SESSION, SLOTS) as started,
        ):
            if not keep:
                return _compare(store, started, as_json)
            if as_json:
                common.answer({"session": SESSION, "hosts": emulated.names, "link": limit.describe()})
            err.print(f"Session {SESSION} is ready on {', '.join(emulated.names)}. In another terminal:")
            err.print(f"  workshop run kmeans --session {SESSION} --ranks {count}")
            err.print(f"  workshop session show {SESSION}")
            err.print("Ctrl-C ends the session and the hosts.")
            started.wait()
    except KeyboardInterrupt:
        err.print("The session and the hosts have ended.")
        return 130
    err.print("The session was stopped; the hosts have ended, too.")
    return 0


def _compare(store: Store, started: HostsSession, as_json: bool) -> int:
    """Run a training on one host and on two, as a study; returns its exit code."""
    from workshop.mpi.implementations import read_placement
    from workshop.registry import workload
    from workshop.study import command
    from workshop.study.grid import plan

    placement = read_placement({**started.record.placement, "ranks": 2})
    options = {"repeats": 3, "title": "One host, and two"}
    planned = plan.plan_here(store, started.record, workload(WORKLOAD), VARY, PARAMS, placement, options)
    return command.go_on(store, command.begin(store, planned), started.record, 10, as_json)
