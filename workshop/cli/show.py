"""How runs and sessions look in a terminal of 80 columns."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.report import terminal
from workshop.report.sentences import metrics_of
from workshop.runtime import client
from workshop.store.records import Lease, RunRecord, SessionRecord
from workshop.store.store import Store

COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow", "interrupted": "red", "running": "cyan"}


def watch_run(store: Store, run: RunRecord, err: Console) -> RunRecord:
    """Wait for a run with a progress bar; Ctrl-C cancels it and waits for its end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(f"run {run.id}", total=None)

        def look(now: RunRecord) -> None:
            if now.status == "queued":
                ahead = [queued.id for queued in store.queue(now.session_id)]
                position = ahead.index(now.id) + 1 if now.id in ahead else 1
                before = "".join(f", after {escape(lease.holder)}" for lease in store.leases(now.session_id)[:1])
                bar.update(task, description=f"run {now.id}: queued, number {position}{before}")
            else:
                done, total = now.progress or (0, None)
                bar.update(task, description=f"run {now.id}: {now.workload}", completed=done, total=total)

        try:
            return client.wait(store, run.id, look)
        except KeyboardInterrupt:
            bar.update(task, description=f"run {run.id}: cancelling")
            with suppress(BadInput):  # it may have ended just now
                client.cancel(store, run.id)
            return client.wait(store, run.id, timeout=30)


def show_run(run: RunRecord, err: Console) -> None:
    """One run: what it was, how it ended, its figures and its verdict."""
    out = Console(highlight=False)
    words = f"{run.workload} on {Placement.parse(run.placement).describe()}"
    out.print(f"Run {run.id}: {words} - [{COLOURS.get(run.status, 'white')}]{run.status}[/]")
    if run.started_at and run.finished_at:
        out.print(
            f"  took {run.finished_at - run.started_at:.2f} s after {run.started_at - run.queued_at:.2f} s of waiting"
        )
    table = Table(box=None, show_header=False, padding=(0, 1))
    for shown in metrics_of(run):
        table.add_row(shown["label"], Text(shown["value"]))
    if table.row_count:
        out.print(table)
    terminal.show_verdict(out, run.verdict or {})
    for notice in run.notices:
        out.print(Text(f"Notice: {notice}", style="yellow"))
    if run.error:
        where = f"rank {run.error['rank']} on {run.error['host']}: " if run.error["rank"] is not None else ""
        err.print(Text(f"{where}{run.error['type']}: {run.error['message']}", style="red"))
        if run.error["traceback"]:
            err.print(Text(f"The traceback is in `workshop runs show {run.id} --json`."))


def runs_table(runs: list[RunRecord]) -> Table:
    headings = ("run", "workload", "status", "placement", "by", "seconds")
    table = terminal.table(headings, right=("run", "seconds"))
    for run in runs:
        seconds = f"{run.finished_at - run.started_at:.2f}" if run.finished_at and run.started_at else ""
        status = Text(run.status, style=COLOURS.get(run.status, "white"))
        where = Placement.parse(run.placement).describe()
        table.add_row(str(run.id), run.workload, status, where, Text(run.submitted_by), seconds)
    return table


def sessions_table(sessions: list[SessionRecord]) -> Table:
    return terminal.table(
        ("session", "state", "placement", "message"),
        [(one.name, one.state, Placement.parse(one.placement).describe(), one.message) for one in sessions],
    )


def leases_json(leases: list[Lease]) -> list[dict[str, Any]]:
    """Who has a session's ranks, and who waits for them."""
    names = "id holder host pid state asked_at held_at"
    return [{name: getattr(lease, name) for name in names.split()} for lease in leases]


def session_json(session: SessionRecord) -> dict[str, Any]:
    names = "id name state message placement private machine rank_map created_at heartbeat_at"
    return {name: getattr(session, name) for name in names.split()} | {"limits": vars(session.limits)}
