"""Things to see on this machine that otherwise take several."""

from __future__ import annotations

import math
import signal
import sys
from typing import Annotated

import typer

from workshop.cli import common
from workshop.core.errors import BadInput

app = typer.Typer(name="demo", help=__doc__, no_args_is_help=True)
SESSION = "hosts"
SLOTS = 2  # ranks of a host
UNUSED = 150.0  # seconds without a run after which hosts end that a script has started
NO_LIMIT = "as fast as this machine"


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
    as_json: common.JSON = False,
) -> int:
    """Emulate hosts, with a session on them. They stay until the session is stopped or Ctrl-C; without a terminal,
    until they had no run for some minutes. Over a slow link a study shows what it costs that ranks talk."""
    from workshop.cli.emulation.hosts import EmulatedHosts, parse_rate
    from workshop.cli.emulation.session import session_on

    rate = None if link is None else parse_rate(link)
    if count < 2:
        raise BadInput(f"hosts is {count}: a session on several hosts takes at least 2.")
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.default_int_handler)  # end as with Ctrl-C, which stops everything
    err = common.stderr()
    err.print(f"Bringing up {count} hosts; link: {link or NO_LIMIT}")
    try:
        with EmulatedHosts(count, rate) as emulated, session_on(emulated, SESSION, SLOTS) as wait:
            if as_json:
                common.answer({"session": SESSION, "hosts": emulated.names, "link": link or NO_LIMIT})
            err.print(f"Session {SESSION} is ready on {', '.join(emulated.names)}. In another terminal:")
            err.print(f"  workshop run kmeans --session {SESSION} --ranks {count}")
            grid = "workshop study run grid --workload mnist --vary map_by=slot,node"
            err.print(f"  {grid} --ranks 2 --session {SESSION}")
            err.print("Ctrl-C ends the session and the hosts.")
            wait(math.inf if sys.stdout.isatty() else UNUSED)
    except KeyboardInterrupt:
        err.print("The session and the hosts have ended.")
        return 130
    err.print("The session was stopped; the hosts have ended, too.")
    return 0
