"""What a study's page and its export show: cards, made by one function for each kind of study.

A study of a kind that brings no cards is shown with its trials.
"""

from __future__ import annotations

from workshop.extension import load
from workshop.registry import studies
from workshop.report.cards import Card
from workshop.study.card_parts import plain
from workshop.study.kinds import Report


def cards(report: Report) -> list[Card]:
    """All there is to see of a study, of whatever kind and however far it is; names of cards are its own."""
    known = studies().get(report.study.kind)
    return load(known.cards)(report) if known is not None and known.cards else plain(report)
