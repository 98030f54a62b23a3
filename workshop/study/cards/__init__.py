"""What a study's page and its export show: cards, made by one function for each kind of study.

A kind that brings a report of its own gets a module here with `cards(report) -> list[Card]`; one that has none is shown
with its trials.
"""

from __future__ import annotations

from importlib import import_module

from workshop.report.cards import Card
from workshop.study.cards.common import plain
from workshop.study.kinds import Report

MODULES = {
    "scaling": "workshop.study.cards.scaling",
    "grid": "workshop.study.cards.grid",
    "tune": "workshop.study.cards.tune",
    "path": "workshop.study.cards.path",
    "ways": "workshop.study.cards.ways",
}


def cards(report: Report) -> list[Card]:
    """All there is to see of a study, of whatever kind and however far it is; names of cards are its own."""
    module = MODULES.get(report.study.kind)
    return plain(report) if module is None else import_module(module).cards(report)
