"""The further cards of a real federation: its certificates, its fx commands, and what was broken on purpose. They show
only the fields of certificates that `command_tables` reads, never a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workshop.extension import Panel
from workshop.report.cards import Card, code, line, table, words
from workshop.report.failures import command
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.failures import openfl_failure
from workshop.workloads.openfl import command_tables
from workshop.workloads.segmentation import panels as segmentation

ABOUT_CERTIFICATES = (
    "Before anything is sent, both sides of a connection show a certificate, and check who has signed the other's. "
    "Private keys stay with their owners, and are shown nowhere."
)
NOT_YET = "Nothing has happened yet."
ABOUT_COMMANDS = "Each line is a process. You can type all of them: labs/federated/openfl has the same files."
# Cards with a table: the metric, the title, the explanation, the headings, and the function that makes a row.
TABLES: Sequence[tuple[str, str, str, Sequence[str], Callable[[command_tables.Record], list[str]]]] = (
    (
        "certificates",
        "Who showed which certificate",
        ABOUT_CERTIFICATES,
        command_tables.CERTIFICATES,
        command_tables.certificate,
    ),
    ("fx", "OpenFL's own commands", ABOUT_COMMANDS, command_tables.COMMANDS, command_tables.command),
)


def openfl(snapshot: Snapshot) -> list[Card]:
    """Return the cards of a run over OpenFL; none for other runs."""
    cards = _fault(snapshot)
    for name, title, about, headings, cells in TABLES:
        if rows := [cells(record) for record in command_tables.records(snapshot.metric(name, list))]:
            cards.append(Card(name, title, (words(line(about, tone="about")), table(headings, rows))))
    return cards


def version(snapshot: Snapshot) -> Any:
    """Return what the cards depend on."""
    metrics = [snapshot.run.metrics.get(name) for name in ("fx", "certificates", "faults")]
    return metrics, snapshot.run.params.get("fault")


def _fault(snapshot: Snapshot) -> list[Card]:
    """Return a card with what was broken on purpose, what happened, and the fix."""
    failure = openfl_failure(snapshot.run.params.get("fault"))
    happened = [line(str(sentence), "What happened") for sentence in snapshot.metric("faults", list) or []]
    if failure is None:
        return [Card("fault", "What went wrong", (words(*happened),))] if happened else []
    about = line(failure.shows, "Broken on purpose"), line(failure.look_for, "Look for")
    lines = words(*about, *(happened or [line(NOT_YET, tone="note")]), line(failure.fix, "What mends it"))
    return [Card("fault", failure.title, (lines, code(command(failure, "fixed"))))]


# The outlines' cards stay away where the run learned digits.
PANELS = (*segmentation.PANELS, Panel("openfl", openfl, version, "learning"))
