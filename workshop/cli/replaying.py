"""`workshop up --replay`: the dashboard of a recorded session, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common, foreground
from workshop.core.errors import BadInput

Recording = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="With --replay: a recording that `workshop record` has made.")
]
Replay = Annotated[
    bool,
    typer.Option("--replay", help="Show a recorded session, without a cluster: FILE, or the one that comes with this."),
]
KNOWN = ("replay", "recording", "host", "port", "as_json")  # the options of `up` that mean something here


def show(context: typer.Context, file: str | None, host: str, port: str, as_json: bool) -> None:
    """Show a recording (None: the one that comes with the project) until somebody asks for an end. Raises BadInput."""
    from workshop.quiz.results import recording as rounds
    from workshop.runtime import replay
    from workshop.runtime.supervisor import check_port
    from workshop.server.child import Dashboard
    from workshop.store.recorded import recorded

    if file == "":
        raise BadInput(f"{context.params['recording']} is given without --replay, which shows a recording.")
    for option in (option for name in context.params if name not in KNOWN for option in _given(context, name)):
        raise BadInput(f"{option} and --replay exclude each other: a recording is shown, and nothing is started.")
    dashboard = Dashboard(host, check_port(host, port), common.stderr().print)
    path = Path(file) if file else replay.shipped()
    with replay.replayed(path) as store:
        rounds.check(store, path.name)
        found = recorded(store.database)
        assert found is not None, "just loaded"
        dashboard.say(found.words)
        foreground.keep_up(store, [dashboard], dashboard, None, store.sessions()[0].name, as_json)


def _given(context: typer.Context, name: str) -> list[str]:
    """The option of `up` as somebody typed it; empty where nobody did, and for one that asks for less (--no-lab)."""
    source, value = context.get_parameter_source(name), context.params[name]
    if source is None or source.name != "COMMANDLINE" or value is False:
        return []
    return [next(one.opts[0] for one in context.command.params if one.name == name)]
