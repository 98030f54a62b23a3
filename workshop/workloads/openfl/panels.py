"""The further cards of a real federation: its certificates and its fx commands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from workshop.core import words
from workshop.report.cards import Card, line, table
from workshop.report.cards import words as sentences
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.segmentation import panels as segmentation

ABOUT_CERTIFICATES = (
    "Before anything is sent, both sides of a connection show a certificate, and check who has signed the other's. "
    "Private keys stay with their owners, and are shown nowhere."
)
ABOUT_COMMANDS = "Each line is a process. You can type all of them: labs/federated/openfl has the same files."
CERTIFICATES = ("Of", "Subject", "Issued by", "Valid until", "Accepted")
COMMANDS = ("Where", "Took", "Exit", "Command")


def certificate(record: Mapping[str, Any]) -> list[str]:
    """Return the cells of a certificate. Nothing else in the record is shown, least of all a key."""
    until = datetime.fromtimestamp(record["expires"], UTC).date().isoformat()
    accepted = {True: "yes", False: f"no: {record['why']}", None: "not shown yet"}[record["accepted"]]
    return [record["name"], record["subject"], record["issuer"], until, accepted]


def command(record: Mapping[str, Any]) -> list[str]:
    """Return where a command was run, how long it took, its exit code or signal, and its words."""
    number = record["code"]
    if number is None:
        return [record["where"], "", "runs", record["command"]]
    ended = f"signal {-number}" if number < 0 else str(number)
    return [record["where"], words.seconds(record["seconds"]), ended, record["command"]]


def openfl(snapshot: Snapshot) -> list[Card]:
    """Return the cards of a run over OpenFL; none for other runs."""
    cards = []
    for name, title, about, headings, cells in (
        ("certificates", "Who showed which certificate", ABOUT_CERTIFICATES, CERTIFICATES, certificate),
        ("fx", "OpenFL's own commands", ABOUT_COMMANDS, COMMANDS, command),
    ):
        if rows := [cells(record) for record in snapshot.metric(name, list) or []]:
            cards.append(Card(name, title, (sentences(line(about, tone="about")), table(headings, rows))))
    return cards


PANELS = (*segmentation.PANELS, Panel("openfl", openfl, lambda snapshot: snapshot.run.metrics, "learning"))
