"""Run a workload, in the session that is up or a private one. A private session ends with the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.core.errors import BadInput
from workshop.core.forms import going_on, unused
from workshop.extension import Workload
from workshop.mpi.tool_interface import COUNTING
from workshop.registry import workloads

if TYPE_CHECKING:
    from workshop.store.records import RunRecord
    from workshop.store.store import Store

app = typer.Typer(help=__doc__, no_args_is_help=True)

Measured = Annotated[bool, typer.Option("--measured", help="Fresh ranks, and nobody else measures meanwhile.")]
Matrix = Annotated[
    bool, typer.Option("--matrix", help="Count the messages between every two ranks, with Open MPI; on fresh ranks.")
]
Save = Annotated[Path | None, typer.Option("--save", metavar="DIR", help="Write the run's files there.")]


def run_and_watch(
    store: Store,
    chosen: Workload,
    values: dict[str, Any],
    session: str | None,
    private: bool,
    measured: bool,
    **where: Any,
) -> RunRecord:
    """Run a workload in the session that is up, or in a private one, and show how far it is until it has ended."""
    from workshop.cli.show import watch_run
    from workshop.sessions import client
    from workshop.sessions.launchers import site
    from workshop.sessions.lifecycle import session_for, shared_session

    common.one_session(session, private)
    shared = None if private else shared_session(store, session)
    base = shared.placement if shared else {}
    if earlier := client.gone_on_from(store, chosen, values):
        values, base = {**going_on(chosen.params, earlier.params), **values}, earlier.placement
        if shared is not None:  # its hosts, not those of the session in which the earlier run was
            base = {**base, "hosts": ()}
    chosen_placement = common.placement_from(base, **where)
    at = site.usual(chosen_placement) if shared is None else site.LOCAL
    placement = client.placement_in(shared, chosen_placement.as_json(), at)
    if shared is None:  # nothing is started for a file that can't be read
        client.inputs_of(store, chosen, chosen.check(values), placement)
    err = common.stderr()
    if shared is None:
        err.print(f"Starting a private session: {placement.describe()}")
    with session_for(store, shared, placement, at) as place:
        submitted = client.submit(store, place, chosen.name, values, placement.as_json(), measured=measured)
        return watch_run(store, submitted, err)


def _execute(
    chosen: Workload,
    values: dict[str, Any],
    session: str | None,
    private: bool,
    measured: bool,
    matrix: bool,
    no_wait: bool,
    save: Path | None,
    as_json: bool,
    **where: Any,
) -> int:
    from workshop.cli.show import show_run
    from workshop.sessions.measurement_lock import refuse_wait

    for sentence in unused(chosen.params, values, chosen.check(values).model_dump(mode="json")):
        common.stderr().print(sentence)
    if matrix:
        if measured:
            raise BadInput("--matrix and --measured exclude each other: counting takes time in each message.")
        where["env"] = [*(where["env"] or []), *(f"{name}={value}" for name, value in COUNTING.items())]
    if no_wait:
        refuse_wait()
    if save is not None:
        common.writable(save)
    store = common.store()
    run = run_and_watch(store, chosen, values, session, private, measured, **where)
    if save is not None:
        common.write_artifacts(store, run.id, save)
    if as_json:
        common.answer(run.as_json())
    else:
        show_run(run, store, common.stderr())
    return 0 if run.status == "completed" else 1


def _command(chosen: Workload) -> Any:
    """A command whose options are the workload's params."""

    def command(**options: Any) -> int:
        values = common.given_values(chosen.params, options)
        return _execute(chosen, values, **options)

    parameters = [
        *common.as_options(chosen.params),
        *((name, annotation, None) for name, annotation in common.PLACEMENT.items()),
        ("session", common.SessionName, None),
        ("private", common.Private, False),
        ("measured", Measured, False),
        ("matrix", Matrix, False),
        ("no_wait", common.NoWait, False),
        ("save", Save, None),
        ("as_json", common.JSON, False),
    ]
    return common.with_options(command, parameters)


for _workload in workloads().values():
    app.command(_workload.name, help=f"{_workload.title}. {_workload.summary}")(_command(_workload))
