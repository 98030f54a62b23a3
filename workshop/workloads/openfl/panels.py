"""What a real federation shows beside its rounds: who showed which certificate and was let in, the fx commands as they
run, and what was broken on purpose. Of certificates only what `command_tables` reads is shown, never a key."""

from __future__ import annotations

from typing import Any

from workshop.extension import Panel
from workshop.report.cards import Card, code, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.failures import openfl_failure
from workshop.workloads.federated.report import panels as federated
from workshop.workloads.openfl import command_tables

ABOUT_CERTIFICATES = (
    "Before anything is sent, both sides of a connection show a certificate, and look who has signed the other's. Its "
    "private key stays with whoever it belongs to, and is shown nowhere."
)
NOT_YET = "Nothing has come of it yet."
ABOUT_COMMANDS = "Each line is a process. All of it can be typed by hand: labs/federated/openfl has the same files."


def openfl(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs without OpenFL."""
    return [*_fault(snapshot), *_certificates(snapshot), *_commands(snapshot)]


def made_of(snapshot: Snapshot) -> Any:
    """What the cards are made of."""
    return [snapshot.run.metrics.get(name) for name in ("fx", "certificates", "faults")], snapshot.run.params.get(
        "fault"
    )


def _fault(snapshot: Snapshot) -> list[Card]:
    """What was broken on purpose, what happened then, and what mends it."""
    known = openfl_failure(snapshot.run.params.get("fault"))
    happened = [line(str(one), "What happened") for one in snapshot.metric("faults", list) or []]
    if known is None:
        return [Card("fault", "What went wrong", (words(*happened),))] if happened else []
    about = line(known.mistake, "Broken on purpose"), line(known.look_for, "Look for")
    said = words(*about, *(happened or [line(NOT_YET, tone="note")]), line(known.fix, "What mends it"))
    return [Card("fault", known.title, (said, code(known.command("fixed"))))]


def _certificates(snapshot: Snapshot) -> list[Card]:
    rows = [command_tables.certificate(one) for one in command_tables.records(snapshot.metric("certificates", list))]
    if not rows:
        return []
    about = words(line(ABOUT_CERTIFICATES, tone="about"))
    return [Card("certificates", "Who showed which certificate", (about, table(command_tables.CERTIFICATES, rows)))]


def _commands(snapshot: Snapshot) -> list[Card]:
    rows = [command_tables.command(one) for one in command_tables.records(snapshot.metric("fx", list))]
    if not rows:
        return []
    about = words(line(ABOUT_COMMANDS, tone="about"))
    return [Card("fx", "OpenFL's own commands", (about, table(command_tables.COMMANDS, rows)))]


PANELS = (*federated.PANELS, Panel("openfl", openfl, made_of, "learning"))
