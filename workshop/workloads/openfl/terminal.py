"""How a federation looks in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from workshop.cli.show import COLOURS
from workshop.core import words
from workshop.report import terminal
from workshop.workloads.openfl import command_tables

Told = Mapping[str, Any]


def begun(told: Told, to: Console | None = None) -> None:
    """A federation that has just been started, and what to type next; `to` standard output unless told otherwise."""
    out = to or Console(highlight=False, markup=False)
    institutions = words.count(told["collaborators"], "institution")
    out.print(f"Run {told['run']}: {institutions}, {words.count(told['rounds'], 'round')}, {engine(told)}.")
    rows = [("session", told["session"]), ("page", told["page"] or "none: no dashboard is up (workshop up)")]
    rows += [("status", told["next"]["status"]), ("stop", told["next"]["stop"])]
    for name, value in rows:
        out.print(f"  {name:8}{value}", soft_wrap=True)
    if told["minutes"] is not None:
        out.print(f"It takes at most {words.long(60 * told['minutes'])}; this command need not wait for it.")


def show(told: Told) -> None:
    """All that a status tells."""
    out = Console(highlight=False)
    head = f"Run {told['run']}: {words.count(told['collaborators'], 'institution')}, {engine(told)} - "
    out.print(Text.assemble(head, (told["status"], COLOURS.get(told["status"], "white"))))
    if told["page"]:
        out.print(Text(f"  page    {told['page']}"), soft_wrap=True)
    out.print(Text(f"  round {told['round']} of {told['rounds']}{_reached(told)}"))
    certificates, commands = (
        map(command_tables.certificate, told["certificates"]),
        map(command_tables.command, told["fx"]),
    )
    _table(out, "Certificates", command_tables.CERTIFICATES, list(certificates))
    _table(out, "fx commands", command_tables.COMMANDS, list(commands), right=("Took", "Exit"))
    for sentence in told["faults"]:
        out.print(Text(sentence))
    terminal.show_verdict(out, told["verdict"] or {})
    if told["error"]:
        out.print(Text(f"{told['error']['type']}: {told['error']['message']}", style="red"))


def engine(told: Told) -> str:
    """Who does the work, in words."""
    return "over OpenFL" if told["backend"] == "openfl" else "on our own ranks"


def _reached(told: Told) -> str:
    reached = told["accuracy"]
    said = [(reached["held_out"], "on held-out images"), (reached["own"], "on institutions' own")]
    parts = [f"{100 * value:.1f} % {where}" for value, where in said if value is not None]
    return f", accuracy {' and '.join(parts)}" if parts else ""


def _table(
    out: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    if not rows:
        return
    out.print(Text(f"\n{title}", style="bold"))
    out.print(terminal.table(heads, rows, right, overflow="fold"))
