"""A real federation with OpenFL: several institutions train one model, and nobody's images leave their process.

Every institution is a process of its own, a collaborator. It talks to the aggregator over gRPC with TLS, and each side
shows a certificate of one common authority before anything is sent. A federation is an ordinary run: it has a page,
events by round, a verdict, and a place in the history.

\b
  workshop federation install    once: OpenFL, in an environment of its own
  workshop federation start      three collaborators, in the background
  workshop federation status     rounds, accuracy, certificates, fx commands
  workshop federation stop       ends every process of it

The same institutions, images, model and rounds on our own ranks, to compare:

\b
  workshop federation start --backend session

What happens when something is wrong, and how one sees it:

\b
  start --fault foreign-certificate   a certificate of another authority
  start --fault other-name            a good certificate of somebody else
  start --fault expired-certificate   one that isn't valid any longer
  start --fault dies                  a collaborator that dies in a round
  start --fault restart               an aggregator that is started again
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Annotated, Any

import typer

from workshop.cli import common, params
from workshop.registry import workload

app = typer.Typer(help=__doc__, no_args_is_help=True)

Run = Annotated[int | None, typer.Argument(metavar="[RUN]", help="The run's number; default: the newest federation.")]
RunThatGoesOn = Annotated[
    int | None, typer.Argument(metavar="[RUN]", help="The run's number; default: the only federation that goes on.")
]
Backend = Annotated[
    str, typer.Option(metavar="NAME", help="Who does the work: openfl, or session for our own engine's ranks.")
]
Minutes = Annotated[
    float, typer.Option(metavar="N", min=0.1, max=1440, help="Longest time of the whole run; then it is ended.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of the run; Ctrl-C cancels it.")]


@app.command()
def install(as_json: common.JSON = False) -> None:
    """Install OpenFL, in an environment of its own.

    It needs older versions of TensorFlow and NumPy than ours. This takes about two minutes and 1.8 GB of disk. It does
    nothing where OpenFL is installed already.
    """
    from workshop.workloads.openfl import environment

    err = common.stderr()
    before = environment.installed()
    python = environment.install(lambda words: err.print(f"OpenFL: {words}"))
    if as_json:
        common.answer({"python": str(python), "folder": str(environment.folder()), "new": before is None})
    else:
        err.print(f"OpenFL is in {environment.folder()}; try it with: workshop federation start")


def _start(backend: str, wait: bool, minutes: float, as_json: bool, **options: Any) -> int:
    from workshop.cli.show import show_run, watch_run
    from workshop.runtime import background, lifecycle
    from workshop.server.address import page
    from workshop.store.store import Store
    from workshop.workloads.openfl import environment
    from workshop.workloads.openfl.status import request, status
    from workshop.workloads.openfl.terminal import begun

    values = params.given_values(workload("openfl").params, options)
    name, settings = request(backend, values)
    placement = common.placement_from({}, **options)
    store = Store.open()
    err = common.stderr()
    if backend == "openfl":  # on first use only; otherwise this takes no time and prints nothing
        environment.install(lambda words: err.print(f"OpenFL: {words}"))
    err.print(f"Starting a session for it: {placement.describe()}")
    run, conductor = background.begin(store, "federation", name, settings, placement, minutes)
    link = page(store, run.id)
    if not wait:
        begin = status(store, run, link)
        common.answer(begin) if as_json else begun(begin)
        return 0
    begun(status(store, run, link), err)
    run = watch_run(store, run, err)
    with suppress(subprocess.TimeoutExpired):  # on a busy machine; the session ends by itself later
        conductor.wait(lifecycle.STOPPED)
    if as_json:
        common.answer(status(store, run, link))
    else:
        show_run(run, store, err)
    return 0 if run.status == "completed" else 1


def _command() -> Any:
    """Return the command `start`. Its options are the settings of an OpenFL run."""

    def start(**options: Any) -> int:
        return _start(**options)

    start.__doc__ = (
        "Start a federation in the background.\n\nIt is a run in a session of its own, which ends with it. Prints the "
        "run's number and what to type next; status and dashboard show it round by round. The first one installs "
        "OpenFL (0.4 GB to download), unless that is there."
    )
    return params.with_options(
        start,
        [
            ("backend", Backend, "openfl"),
            *params.as_options(workload("openfl").params),
            ("minutes", Minutes, 30.0),
            ("ranks", common.PLACEMENT["ranks"], None),
            ("threads", common.PLACEMENT["threads"], None),
            ("wait", Wait, False),
            ("as_json", common.JSON, False),
        ],
    )


app.command("start")(_command())


@app.command("status")
def status_(run: Run = None, as_json: common.JSON = False) -> None:
    """Show how far a federation is.

    Prints rounds, accuracy, certificates and the fx commands so far; with --json all details.
    """
    from workshop.server.address import page
    from workshop.store.store import Store
    from workshop.workloads.openfl.status import chosen, status
    from workshop.workloads.openfl.terminal import show

    store = Store.open()
    federation = chosen(store, run)
    (common.answer if as_json else show)(status(store, federation, page(store, federation.id)))


@app.command()
def stop(run: RunThatGoesOn = None, as_json: common.JSON = False) -> None:
    """End a federation with all its processes."""
    from workshop.runtime import background
    from workshop.store.store import Store
    from workshop.workloads.openfl.status import chosen, status

    store = Store.open()
    ended = background.end(store, chosen(store, run, unfinished=True))
    if as_json:
        common.answer(status(store, ended))
    else:
        common.stderr().print(f"Run {ended.id} is {ended.status}, and its processes have ended.")
