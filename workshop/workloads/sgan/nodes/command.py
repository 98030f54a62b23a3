"""`workshop study run nodes`: the article's path over emulated hosts."""

from __future__ import annotations

import os
import signal
from typing import Annotated

import typer

from workshop.cli import common
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.memory import size
from workshop.study.command import Guided, InSession, run_guide

SLOTS = 4  # ranks of a host
LINK = "25mbit"


@common.grouped
def nodes(
    link: Annotated[
        str | None, typer.Option(metavar="RATE", help="What each emulated host can send, and get; default: 25mbit.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of the first host's ranks together; default: 2G.")
    ] = None,
    *,
    options: Guided,
    running: InSession,
) -> int:
    """The S-GAN over emulated hosts. It shows the speed-up over a slow link, and how many ranks the memory of
    a host holds.

    Without --session it emulates four hosts with a limited link, and ends them afterwards. The dashboard's page Nodes
    shows the same with questions to predict in each step.
    """
    from workshop.cli.emulation.hosts import EmulatedHosts, parse_rate
    from workshop.cli.emulation.session import session_on
    from workshop.workloads.sgan.nodes.facts import GUIDE

    rate = parse_rate(link or LINK)
    if running["session"] is not None:
        if link or memory:
            raise BadInput("--link and --memory are for hosts that this command emulates; leave them or --session out.")
        return run_guide(GUIDE, options, running)
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.default_int_handler)  # end as with Ctrl-C, which ends the hosts, too
    os.environ["WORKSHOP_MEMORY"] = memory or "2G"  # the session's conductor reads it
    allowed = size(config.memory_limit() or 0)
    common.stderr().print(f"Bringing up {GUIDE.hosts} hosts; link: {link or LINK}, memory: {allowed}")
    name = f"nodes-{os.getpid()}"
    with EmulatedHosts(GUIDE.hosts, rate) as hosts, session_on(hosts, name, SLOTS):
        return run_guide(GUIDE, options, {**running, "session": name})
