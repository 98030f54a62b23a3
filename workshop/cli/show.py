"""How runs and sessions look in a terminal of 80 columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import MESSAGES, OUTPUT
from workshop.registry import workload_title
from workshop.report import terminal
from workshop.report.activity import ActivityReader
from workshop.report.endings import failure_words
from workshop.report.sentences import metrics_in_two
from workshop.sessions import client
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.web import address

PICTURES = (".png", ".jpg", ".jpeg")  # how names of files end that are pictures
RUNS = ("run", "workload", "status", "placement", "by", "seconds")
SESSIONS = ("session", "state", "placement", "message")
COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow", "interrupted": "red", "running": "cyan"}


def watch_run(store: Store, run: RunRecord, err: Console) -> RunRecord:
    """Wait for a run with a progress bar; Ctrl-C cancels it and waits for its end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task, activity = bar.add_task(f"run {run.id}", total=None), ActivityReader(store)

        def look(now: RunRecord) -> None:
            if now.status == "queued":
                from workshop.report.run_sections import turn

                bar.update(task, description=f"run {now.id}: {turn(store, now)}")
            else:
                done, total = now.progress or (0, None)
                what = escape(activity.words(now) or workload_title(now.workload))
                bar.update(task, description=f"run {now.id}: {what}", completed=done, total=total)

        try:
            return client.wait(store, run.id, look, say=err.print)
        except KeyboardInterrupt:
            bar.update(task, description=f"run {run.id}: cancelling")
            with suppress(BadInput):  # it may have ended just now
                client.cancel(store, run.id)
            return client.wait(store, run.id, timeout=30)


def show_run(run: RunRecord, store: Store, err: Console, every: bool = False) -> None:
    """One run: what it was, how it ended, its figures (those that matter first, or `every` one), its verdict, and
    where to look at it."""
    out = Console(highlight=False)
    about = f"{workload_title(run.workload)} on {Placement.parse(run.placement).describe()}"
    out.print(f"Run {run.id}: {about} - [{COLOURS.get(run.status, 'white')}]{run.status}[/]")
    if run.started_at and run.finished_at:
        took, waited = run.finished_at - run.started_at, run.started_at - run.queued_at
        out.print(f"  took {words.seconds(took)} after {words.seconds(waited)} of waiting")
    names = {artifact.name for artifact in store.artifacts(run.id)}
    if OUTPUT in names:
        printed = store.artifact(run.id, OUTPUT).data.decode(errors="replace")
        out.print(Text(printed.rstrip("\n")), soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 1))
    first, rest = metrics_in_two(run)
    for metric in first + rest * every:
        power = "·10" in metric["value"]  # a terminal writes it as one types it: 3.787e-13
        table.add_row(metric["label"], Text(metric["exact"] if power else metric["value"]))
    if table.row_count:
        out.print(table)
    if rest and not every:
        out.print(f"  {words.count(len(rest), 'other figure')}: workshop runs show {run.id} --all", style="dim")
    if MESSAGES in names:
        _show_matrix(out, json.loads(store.artifact(run.id, MESSAGES).data))
    terminal.show_verdict(out, run.verdict or {})
    for notice in run.notices:
        out.print(Text(f"Notice: {notice}", style="yellow"))
    if (host := address.dashboard(store)) is not None:
        out.print(f"Page: {host}/run?run={run.id}", soft_wrap=True)
    for picture in (artifact.name for artifact in store.artifacts(run.id) if artifact.name.endswith(PICTURES)):
        where = f"workshop runs export {run.id} FOLDER" if host is None else f"{host}/artifact/{run.id}/{picture}"
        out.print(Text(f"Picture {picture}: {where}"), soft_wrap=True)
    if run.error and (failure := failure_words(run)):
        err.print(Text(failure, style="red"))
        if run.error["traceback"]:
            err.print(Text(f"The traceback is in `workshop runs show {run.id} --json`."))


def _show_matrix(out: Console, counted: Mapping[str, Any]) -> None:
    """Print sentences on the messages between ranks, and the bytes inside collectives or, without these, the others."""
    from workshop.report.panels.messages import TITLES, sentences, total

    for sentence in sentences(counted):
        out.print(sentence)
    kind = next((kind for kind in reversed(TITLES) if total(counted, kind, "bytes").any()), None)
    if kind is not None:
        ranks = [f"to {rank}" for rank in range(len(counted["hosts"]))]
        rows = [
            [f"from {rank}", *map(words.size, row)] for rank, row in enumerate(total(counted, kind, "bytes").tolist())
        ]
        out.print(f"{TITLES[kind]}:")
        out.print(terminal.table(["", *ranks], rows, right=ranks))


def run_rows(runs: list[RunRecord]) -> list[tuple[str | Text, ...]]:
    rows: list[tuple[str | Text, ...]] = []
    for run in runs:
        seconds = f"{run.finished_at - run.started_at:.2f}" if run.finished_at and run.started_at else ""
        status = Text(run.status, style=COLOURS.get(run.status, "white"))
        where = Placement.parse(run.placement).describe()
        rows.append((str(run.id), workload_title(run.workload), status, where, run.submitted_by, seconds))
    return rows


def session_rows(sessions: list[SessionRecord]) -> list[tuple[str, ...]]:
    return [
        (session.name, session.state, Placement.parse(session.placement).describe(), session.message)
        for session in sessions
    ]


def session_json(session: SessionRecord) -> dict[str, Any]:
    names = "id name state message placement private machine rank_map created_at heartbeat_at"
    return {name: getattr(session, name) for name in names.split()} | {"limits": vars(session.limits)}
