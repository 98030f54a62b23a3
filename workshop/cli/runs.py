"""List, show, cancel and export runs, and kill a rank of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common
from workshop.core.documents import finite

app = typer.Typer(help=__doc__, no_args_is_help=True)
MOST_RUNS = 100  # runs of a list
RunId = Annotated[int, typer.Argument(metavar="RUN", help="The run's number.")]


@app.command("list")
def list_(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this session's.")] = None,
    workload: Annotated[str | None, typer.Option(metavar="NAME", help="Only this workload's.")] = None,
    as_json: common.JSON = False,
) -> None:
    """List runs, the newest 100 first."""
    from workshop.cli.show import RUNS, run_rows

    store = common.store()
    session_id = store.session(session).id if session else None
    matching = store.runs(session_id=session_id, workload=workload, limit=MOST_RUNS)
    common.listing(as_json, [run.as_json() for run in matching], RUNS, run_rows(matching), ("run", "seconds"))


@app.command()
def show(
    run: RunId,
    every: Annotated[bool, typer.Option("--all", help="Show all figures, not only those that matter first.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Show one run with its figures and its verdict."""
    from workshop.cli.show import show_run
    from workshop.sessions import client

    store = common.store()
    record = client.read(store, run)
    if as_json:
        common.answer(record.as_json())
    else:
        show_run(record, store, common.stderr(), every)


@app.command()
def cancel(run: RunId) -> None:
    """Ask for the end of a run. Ranks that don't end within 5 s are ended."""
    from workshop.sessions import client

    client.cancel(common.store(), run)
    common.stderr().print(f"Run {run} is asked to end.")


@app.command()
def kill(run: RunId, rank: Annotated[int, typer.Argument(metavar="RANK", min=0, help="The rank's number.")]) -> None:
    """Kill one rank of a running run, to see what happens."""
    from workshop.sessions import client

    client.kill_rank(common.store(), run, rank)
    common.stderr().print(f"Rank {rank} of run {run} is killed within a second or two.")


@app.command()
def export(
    run: RunId,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write; made if it isn't there.")],
    as_json: common.JSON = False,
) -> None:
    """Write a run into a folder. It gets run.json, events.jsonl and the run's files."""
    from workshop.sessions import client

    store = common.store()
    record = client.read(store, run)
    common.writable(folder)
    written = [folder / "run.json", folder / "events.jsonl"]
    written[0].write_text(json.dumps(finite(record.as_json()), indent=2) + "\n")
    with open(written[1], "w") as file:
        after = 0
        while events := store.events(run, after=after):
            file.writelines(json.dumps(finite(vars(event))) + "\n" for event in events)
            after = events[-1].id
    written += common.write_artifacts(store, run, folder)
    if as_json:
        common.answer({"run": run, "files": [str(path) for path in written]})
    else:
        common.stderr().print(f"Wrote {len(written)} files to {folder}")
