"""Studies as files: a page of HTML, its figures as pictures, its trials as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common
from workshop.study.command import StudyId


def export(
    study: StudyId,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="One page with figures, for any browser.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Its figures as pictures.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="A line for each trial.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Write a study's report into files; with --json alone, its document to standard output."""
    from workshop.core.errors import BadInput
    from workshop.store.store import Store
    from workshop.study import export as exporting
    from workshop.study.kinds import report

    store = Store.open()
    record = store.study(study)
    if html is None and png is None and csv is None:
        if not as_json:
            raise BadInput("Say what to write: --html FILE, --png FOLDER, --csv FILE, or --json for the document.")
        common.answer(report(store, record).as_json())
        return
    written = [str(path) for path in exporting.write(store, record, html=html, png=png, csv=csv, overwrite=overwrite)]
    if as_json:
        common.answer({"study": study, "files": written})
    else:
        for path in written:
            print(path)
