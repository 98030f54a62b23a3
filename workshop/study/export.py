"""A study as files: a self-contained HTML page, trials as CSV."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import FileSystemLoader

from workshop.core import output_files, words
from workshop.registry import studies
from workshop.report import html as render
from workshop.report.cards import Card, Part
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.cards import cards as cards_of
from workshop.study.kinds import Report, any_kind, expected, title, trial_json
from workshop.study.results import reason

STYLE = files("workshop.study") / "export.css"
TEMPLATES = render.ENVIRONMENT.overlay(loader=FileSystemLoader(Path(__file__).parent))
COLUMNS = ("number", "label", "repeat", "status", "run", "rate", "unit", "why")


def write(
    store: Store,
    study: StudyRecord,
    *,
    html: Path | None = None,
    csv: Path | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a page or a table. Returns the files.

    Raises BadInput and writes nothing if a file exists and must not be overwritten, or if a folder is not writable.
    """
    report = any_kind(study.kind).report(store, study)
    output_files.check([path for path in (html, csv) if path is not None], overwrite)
    contents: dict[Path, bytes] = {}
    if html is not None:
        contents[html] = page(report, cards_of(report)).encode()
    if csv is not None:
        contents[csv] = table(report).encode()
    for path, data in contents.items():
        with suppress(OSError):  # the sentence comes with the file
            path.parent.mkdir(parents=True, exist_ok=True)
        output_files.write(path, data)
    return list(contents)


def table(report: Report) -> str:
    """A row for each trial as CSV (RFC 4180): its values, its outcome, a column for each axis, and further columns of
    the kind of study."""
    axes = list(dict.fromkeys(name for trial in report.trials for name in _point(trial)))
    columns = any_kind(report.study.kind).columns
    more = {
        trial.number: columns(run) if (run := report.runs.get(trial.run_id or 0)) is not None else {}
        for trial in report.trials
    }
    names = list(dict.fromkeys(name for columns in more.values() for name in columns))
    rows = []
    for trial in report.trials:
        values = {**trial_json(trial, report.runs, report.rate), "unit": report.unit, "why": reason(trial, report.runs)}
        point = {axis: value for axis, value in _point(trial).items() if value is not None}
        at = [value if isinstance(value := point.get(axis, ""), str) else json.dumps(value) for axis in axes]
        further = [more[trial.number].get(name, "") for name in names]
        rows.append([*(values[name] for name in COLUMNS), *at, *further])
    table = pd.DataFrame(rows, columns=[*COLUMNS, *axes, *names], dtype=object)
    text: str = table.to_csv(index=False, lineterminator="\r\n")
    return text


def page(report: Report, cards: Sequence[Card]) -> str:
    """The study as one page that needs neither network nor server. It contains plotly.js once."""
    study = report.study
    name = words.capital(title(study)) if study.kind in studies() else f"A study of {study.workload}"
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(study.created_at))
    head = f"Study {study.id}, begun {when}: {study.state}, {study.done} of {expected(report)} runs."
    figures = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    body = "".join(render.section(card, _figure, linked=False, source=_picture) for card in cards)
    style = render.STYLE + STYLE.read_text(encoding="utf-8")
    return TEMPLATES.get_template("export.html").render(name=name, head=head, style=style, script=figures, body=body)


def _point(trial: Trial) -> Mapping[str, Any]:
    """The values of a trial on its axes; its placement if it has none."""
    return trial.point or {
        name: trial.placement[name] for name in ("mpi", "ranks", "threads") if name in trial.placement
    }


def _figure(part: Part) -> str:
    html = part["figure"].to_html(
        full_html=False, include_plotlyjs=False, config={"displayModeBar": False, "responsive": True}
    )
    least = f' style="min-width:{int(part["width"])}px"' if part["width"] else ""
    return f'<div class="ws-frame"><div{least}>{html}</div></div>'


def _picture(url: str) -> str | None:
    """Pictures that bring their own bytes; others are on a server."""
    return url if url.startswith("data:image/") else None
