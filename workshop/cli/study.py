"""Run a workload under several conditions, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common
from workshop.study import command as commands
from workshop.study.command import Running, StudyId

MOST_STUDIES = 100  # studies of a list
app = typer.Typer(help=__doc__, no_args_is_help=True)
run_app = typer.Typer(help="Run a study; it goes on where the same one was interrupted.", no_args_is_help=True)
app.add_typer(run_app, name="run")


common.add_commands(run_app, "study run")


@app.command()
def export(
    study: StudyId,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="One page with figures, for any browser.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="A line for each trial.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Write a study's report into files. With --json alone, its document goes to standard output."""
    from workshop.core.errors import BadInput
    from workshop.study import export as exporting
    from workshop.study.kinds import report

    store = common.store()
    record = store.study(study)
    if html is None and csv is None:
        if not as_json:
            raise BadInput("Say what to write: --html FILE, --csv FILE, or --json for the document.")
        common.answer(report(store, record).as_json())
        return
    written = [str(path) for path in exporting.write(store, record, html=html, csv=csv, overwrite=overwrite)]
    if as_json:
        common.answer({"study": study, "files": written})
    else:
        for path in written:
            print(path)


@app.command()
@common.grouped
def resume(
    study: StudyId,
    failed: Annotated[bool, typer.Option("--failed", help="Run the trials that failed again, too.")] = False,
    *,
    running: Running,
) -> int:
    """Go on with a study that was interrupted. Completed runs are not repeated."""
    from workshop.study import kinds

    with common.store() as store:
        measured = kinds.kind(store.study(study).kind).measured
    store, shared = commands.store_and_session(running["session"], running["private"], running["no_wait"] and measured)
    return commands.go_on(store, study, shared, running["minutes"] or 30, bool(running["as_json"]), failed)


@app.command()
def show(study: StudyId, as_json: common.JSON = False) -> None:
    """Show one study: its table, its verdict, and how far it is."""
    from workshop.study.kinds import report
    from workshop.study.terminal import show_study

    store = common.store()
    study_report = report(store, store.study(study))
    if as_json:
        common.answer(study_report.as_json())
    else:
        show_study(study_report)


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List studies, the newest 100 first."""
    from workshop.study.kinds import expected_runs
    from workshop.study.terminal import HEADINGS, studies_rows

    store = common.store()
    studies = store.studies(limit=MOST_STUDIES)
    all_of = [expected_runs(store, study) for study in studies]
    documents = [vars(study) | {"expected": runs} for study, runs in zip(studies, all_of, strict=True)]
    empty = "There is no study yet; run one with: workshop study run scaling --workload mnist"
    rows = studies_rows(studies, all_of)
    common.listing(as_json, documents, HEADINGS, rows, ("study", "runs", "failed"), empty)
