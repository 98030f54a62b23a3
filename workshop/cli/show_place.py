"""How placements and their predictions look in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import command_lines
from workshop.mpi.reports.seats import ranges
from workshop.report import terminal
from workshop.report.failures import Failure

MOST = 64  # ranks in a table; --json has all of them


def show(document: Mapping[str, Any], described: MachineDescription) -> None:
    """A placement: its map or why there is none, and the commands."""
    out = _console()
    _head(out, document, described)
    _outcome(out, document)
    titles = command_lines.titles()
    for tool, text in document["commands"].items():
        out.print(Text(f"\n{titles[tool]}", style="bold"))
        out.out(command_lines.folded(text.rstrip("\n"), min(out.width, 100)), highlight=False)


def show_list(every: Iterable[Failure]) -> None:
    out = _console()
    rows = [(one.name, one.title, one.shows) for one in every]
    out.print(terminal.table(("failure", "what it is", "what it shows"), rows, overflow="fold"))
    out.print("\n`workshop place --failure NAME` shows one, with the commands that run it.")


def show_failure(
    chosen: Failure, parts: Mapping[str, Mapping[str, Any]], runs: Mapping[str, str], described: MachineDescription
) -> None:
    """A failure: where its ranks would run, and its fix's."""
    out = _console()
    out.print(Text(chosen.title, style="bold"))
    out.print(Text(chosen.shows))
    for which, title in (("broken", "What goes wrong"), ("fixed", "What mends it")):
        out.print(Text(f"\n{title}", style="bold"))
        _head(out, parts[which], described)
        _outcome(out, parts[which])
        out.out(command_lines.folded(runs[which], min(out.width, 100)), highlight=False)
    out.print()
    out.print(terminal.labelled("Look for", chosen.look_for))
    if chosen.verdict:
        out.print(terminal.labelled("Its verdict", chosen.verdict))
    if chosen.needs_hosts:
        out.print(Text("It needs a session over several hosts (workshop session start --hosts …)."))


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _head(out: Console, document: Mapping[str, Any], described: MachineDescription) -> None:
    placement = Placement.parse(document["placement"])
    kind = "" if described.synthetic is None else "machine "
    out.print(Text(f"{placement.describe()} ({kind}{described.name})"))


def _outcome(out: Console, document: Mapping[str, Any]) -> None:
    for words in document.get("unknown") or []:
        out.print(Text(f"Not understood, and left out: {words}", style="yellow"))
    if document["refused"] is not None:
        out.print(Text("Refused, in the MPI's own words:" if document["own_words"] else "Refused:", style="red"))
        out.print(Text(document["refused"]))
        if document["advice"]:
            out.print(terminal.labelled("What to change", document["advice"]))
    if document["note"]:
        out.print(Text(document["note"], style="yellow"))
    if document["predicted"]:
        out.print(_table(document, out.width))
        if len(document["predicted"]) > MOST:
            out.print(f"and {len(document['predicted']) - MOST} more ranks (--json has all of them)")


def _table(document: Mapping[str, Any], width: int) -> Table:
    """Rank by rank; Open MPI 4's picture of a binding where there is room for it."""
    reports, masks = document["predicted"][:MOST], document["masks"][:MOST]
    drawn = max(map(len, masks), default=0) <= width - 44
    headings = ("rank", "host", "package", "cores", "units", *(["B: may run here"] if drawn else []))
    table = terminal.table(headings, right=("rank",), overflow="fold")
    for report, mask in zip(reports, masks, strict=True):
        cells = [ranges(report[name]) for name in ("packages", "cores", "units")]
        table.add_row(str(report["rank"]), report["host"], *cells, *([mask] if drawn else []))
    return table
