"""What a study's page and its export show: cards, made by one function for each kind of study.

A study of a kind that brings no cards is shown with its trials.
"""

from __future__ import annotations

from workshop.extension import load
from workshop.registry import studies
from workshop.report.cards import Card
from workshop.store.store import Store
from workshop.study.card_parts import plain
from workshop.study.kinds import Report


def cards(report: Report) -> list[Card]:
    """All there is to see of a study, of whatever kind and however far it is; names of cards are its own."""
    known = studies().get(report.study.kind)
    return load(known.cards)(report) if known is not None and known.cards else plain(report)


def visible(store: Store, identity: int, report: Report, shown: list[Card]) -> tuple[list[Card], str]:
    """The cards that a learner may see, and why others are left out; "" where none are."""
    known = studies().get(report.study.kind)
    if known is None or not known.visible:
        return shown, ""
    mine = load(known.visible)(store, identity, report, shown)
    return mine, known.hidden if len(mine) < len(shown) else ""
