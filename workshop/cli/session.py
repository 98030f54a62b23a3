"""Launch, list, show and stop sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common

app = typer.Typer(help=__doc__, no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The session's name: lower-case letters, digits and -.")]


@app.command()
@common.grouped
def start(
    name: Name = "workshop",
    *,
    where: common.Where,
    site: common.Site,
    as_json: common.JSON = False,
) -> None:
    """Launch a session, which runs until it is stopped.

    The variable WORKSHOP_MEMORY (like 6G or 800M) is how much memory all its ranks on this machine may have together; a
    run that takes more fails with a sentence that says so, and the session goes on. Without it they may use all memory.
    """
    from workshop.cli.show import session_json
    from workshop.sessions import lifecycle

    placement = common.placement_from({}, **where)
    at = common.site_from(placement, **site)
    store = common.store()
    err = common.stderr()
    session, conductor = lifecycle.start_session(store, name, placement, at=at)
    err.print(f"Starting session {name}: {placement.describe()}")
    ready = lifecycle.wait_ready(store, session, conductor, on_look=lifecycle.saying(err.print))
    if as_json:
        common.answer(session_json(ready))
    else:
        err.print(f"Session {name} is ready; stop it with: workshop session stop {name}")


@app.command("list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Stopped and private sessions, too.")] = False,
    as_json: common.JSON = False,
) -> None:
    """List sessions."""
    from workshop.cli.show import SESSIONS, session_json, session_rows

    sessions = [s for s in common.store().sessions() if everything or not (s.private or s.state == "stopped")]
    empty = "No session is up; launch one with: workshop session start"
    documents = [session_json(session) for session in sessions]
    common.listing(as_json, documents, SESSIONS, session_rows(sessions), empty=empty)


@app.command()
def show(name: Name = "workshop", as_json: common.JSON = False) -> None:
    """Show one session: its state, its ranks, its queue."""
    from workshop.cli.show import RUNS, SESSIONS, run_rows, session_json, session_rows
    from workshop.core import accelerators

    store = common.store()
    session = store.session(name)
    queue = store.queue(session.id)
    if as_json:
        common.answer(session_json(session) | {"queue": [run.as_json() for run in queue]})
        return
    common.show_table(SESSIONS, session_rows([session]))
    for rank in (session.rank_map or {"ranks": []})["ranks"]:
        units = ", ".join(map(str, rank["units"]))
        gpus = ", " + accelerators.describe(rank) if "gpus" in rank else ""
        print(f"  rank {rank['rank']}  on {rank['host']}, units {units}, process {rank['pid']}{gpus}")
    if queue:
        common.show_table(RUNS, run_rows(queue), ("run", "seconds"))


@app.command()
def stop(name: Name = "workshop", as_json: common.JSON = False) -> None:
    """Stop a session and every process of it."""
    from workshop.cli.show import session_json
    from workshop.sessions import lifecycle

    stopped = lifecycle.stop_session(common.store(), name)
    if as_json:
        common.answer(session_json(stopped))
    else:
        common.stderr().print(f"Session {name} is stopped.")
