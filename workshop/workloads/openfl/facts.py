"""The facts of the verdict of a real federation.

The further cards of a real federation: its certificates and its fx commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.cards import Card, line, table
from workshop.report.cards import paragraph as sentences
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.federated.failures import openfl_fix
from workshop.workloads.openfl.workspace import PATIENCE
from workshop.workloads.segmentation import panels as segmentation

_INSTITUTION = re.compile(r"institution \d+")  # the party of a command; "a stranger" is a guest


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The authority of the accepted certificates, a refused one, an institution that was ended by a signal, and the
    model's scores; None for what the run doesn't tell."""
    metrics, certificates = facts.metrics, facts.metrics.get("certificates") or []
    accepted = [certificate for certificate in certificates if certificate["accepted"]]
    rounds, measure = metrics.get("rounds") or 0, str(metrics.get("measure") or "accuracy").lower()
    killed = (command["where"] for command in metrics.get("fx") or [] if (command["code"] or 0) < 0)
    held_out, own_images = (metrics.get(f"{on}_{measure}") for on in ("held_out", "own"))
    return {
        "authority": accepted[0]["issuer"] if accepted else None,
        "accepted": len(accepted),
        "refused": next((certificate for certificate in certificates if certificate["accepted"] is False), None),
        "died": next((where for where in killed if _INSTITUTION.fullmatch(where)), None),
        "fewest": min((about.get("took_part", rounds) for about in metrics.get("institutions") or []), default=0),
        "held_out": held_out if number(held_out) else None,
        "own_images": own_images if number(own_images) else None,
        "patience": PATIENCE,
        "fixes": {fault: openfl_fix(fault) for fault in ("foreign-certificate", "dies")},
    }


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
