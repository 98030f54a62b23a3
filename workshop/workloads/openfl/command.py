"""Run a real federation with OpenFL. Several institutions train one model, and nobody's images leave their process.

Every institution is a process of its own, a collaborator. It talks to the aggregator over gRPC with TLS, and each side
shows a certificate of one common authority before anything is sent. A federation is an ordinary run. It takes some
minutes, most of them for keys and certificates: each of OpenFL's commands imports TensorFlow.

\b
  workshop federation install    once: OpenFL, in an environment of its own
  workshop federation start      three collaborators, in the background
  workshop federation status     rounds, accuracy, certificates, fx commands
  workshop runs cancel RUN       ends every process of it

The same on our own ranks: workshop run federated --institutions 3 --rounds 5

What happens when something is wrong, and how one sees it:

\b
  start --fault foreign-certificate   a certificate of another authority
  start --fault dies                  a collaborator that dies in a round
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workshop.cli import common
from workshop.core.errors import BadInput
from workshop.registry import workload

app = typer.Typer(help=__doc__, no_args_is_help=True)
Run = Annotated[int | None, typer.Argument(metavar="[RUN]", help="The run's number; default: the newest federation.")]
Minutes = Annotated[
    float, typer.Option(metavar="N", min=0.1, max=1440, help="Longest time of the whole run; then it is ended.")
]


@app.command()
def install() -> None:
    """Install OpenFL in an environment of its own.

    It needs older versions of TensorFlow and NumPy than ours. This takes about two minutes and 1.8 GB of disk.
    """
    from workshop.workloads.openfl import environment

    err = common.stderr()
    environment.install(lambda words: err.print(f"OpenFL: {words}"))
    err.print(f"OpenFL is in {environment.folder()}; try it with: workshop federation start")


def _start(minutes: float, as_json: bool, **options: Any) -> None:
    """Start a federation in the background.

    It is a run in a session of its own, which ends with it. Prints the run's number and what to type next; status and
    dashboard show it round by round. The first one installs OpenFL (0.4 GB to download), unless that is there.
    """
    from workshop.cli.show import show_run
    from workshop.sessions import lifecycle
    from workshop.store.store import Store
    from workshop.workloads.openfl import environment

    openfl, err = workload("openfl"), common.stderr()
    values = common.given_values(openfl.params, options)
    openfl.check(values)
    placement = common.placement_from({}, **options)
    store = Store.open()
    environment.install(lambda words: err.print(f"OpenFL: {words}"))  # on first use only
    err.print(f"Starting a session for it: {placement.describe()}")
    run = lifecycle.begin_run(store, "federation", "openfl", values, placement, minutes)
    if as_json:
        common.answer(run.as_json())
        return
    show_run(run, store, err)
    print(f"It takes some minutes, at most {minutes:g}; this command need not wait for it.")
    print(f"  workshop federation status {run.id}\n  workshop runs cancel {run.id}")


app.command("start")(
    common.with_options(
        _start,
        [
            *common.as_options(workload("openfl").params),
            ("minutes", Minutes, 30.0),
            ("ranks", common.PLACEMENT["ranks"], None),
            ("threads", common.PLACEMENT["threads"], None),
            ("as_json", common.JSON, False),
        ],
    )
)


@app.command()
def status(run: Run = None, as_json: common.JSON = False) -> None:
    """Show how far a federation is.

    Prints rounds, accuracy, certificates and the fx commands so far; with --json all details.
    """
    from rich.console import Console

    from workshop.cli.show import show_run
    from workshop.report import terminal
    from workshop.report.snapshot import Snapshot
    from workshop.sessions import client
    from workshop.store.store import Store
    from workshop.workloads.openfl.facts import openfl

    store = Store.open()
    newest = store.runs(workload="openfl", limit=1)
    if run is None and not newest:
        raise BadInput("There is no federation yet; start one with: workshop federation start")
    federation = client.read(store, newest[0].id if run is None else run)
    if as_json:
        common.answer(federation.as_json())
        return
    if federation.progress is not None:
        print("Round {} of {}".format(*federation.progress))
    terminal.show(Console(highlight=False), openfl(Snapshot(store, federation)), most_rows=1000)
    show_run(federation, store, common.stderr())
