"""Prints a federation in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from workshop.cli.show import COLOURS
from workshop.core import words
from workshop.report import terminal
from workshop.workloads.openfl import command_tables

Status = Mapping[str, Any]  # what `status` returns


def begun(status: Status, to: Console | None = None) -> None:
    """Print a federation that has just been started, and the next commands; `to` is standard output by default."""
    out = to or Console(highlight=False, markup=False)
    institutions = words.count(status["collaborators"], "institution")
    out.print(f"Run {status['run']}: {institutions}, {words.count(status['rounds'], 'round')}, {engine(status)}.")
    rows = [("session", status["session"]), ("page", status["page"] or "none: no dashboard is up (workshop up)")]
    for name, value in [*rows, *status["next"].items()]:
        out.print(f"  {name:8}{value}", soft_wrap=True)
    if status["minutes"] is not None:
        out.print(f"It takes at most {words.long(60 * status['minutes'])}; this command need not wait for it.")


def show(status: Status) -> None:
    """Print a status."""
    out = Console(highlight=False)
    head = f"Run {status['run']}: {words.count(status['collaborators'], 'institution')}, {engine(status)} - "
    out.print(Text.assemble(head, (status["status"], COLOURS.get(status["status"], "white"))))
    if status["page"]:
        out.print(Text(f"  page    {status['page']}"), soft_wrap=True)
    places = {"held_out": "on held-out images", "own": "on institutions' own"}
    scores = [(status["accuracy"][name], where) for name, where in places.items()]
    accuracies = " and ".join(f"{100 * value:.1f} % {where}" for value, where in scores if value is not None)
    reached = f", {status.get('measure') or 'accuracy'} {accuracies}" if accuracies else ""
    out.print(Text(f"  round {status['round']} of {status['rounds']}{reached}"))
    for name, title, headings, cells in (
        ("certificates", "Certificates", command_tables.CERTIFICATES, command_tables.certificate),
        ("fx", "fx commands", command_tables.COMMANDS, command_tables.command),
    ):
        if rows := [cells(record) for record in status[name]]:
            out.print(Text(f"\n{title}", style="bold"))
            out.print(terminal.table(headings, rows, ("Took", "Exit"), overflow="fold"))
    for sentence in status["faults"]:
        out.print(Text(sentence))
    terminal.show_verdict(out, status["verdict"] or {})
    if status["error"]:
        out.print(Text(f"{status['error']['type']}: {status['error']['message']}", style="red"))


def engine(status: Status) -> str:
    """Return who does the work, in words."""
    return "over OpenFL" if status["backend"] == "openfl" else "on our own ranks"
