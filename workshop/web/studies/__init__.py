"""What a study's page and its export show: cards, made by one function for each kind of study.

A kind that brings a report of its own gets a module here with `cards(report) -> list[Card]`; one that has none is shown
with its trials.
"""

from __future__ import annotations

from importlib import import_module

from workshop.study.kinds import Report
from workshop.web.cards import Card
from workshop.web.studies.common import plain

MODULES = {
    "scaling": "workshop.web.studies.scaling",
    "grid": "workshop.web.studies.grid",
    "tune": "workshop.web.studies.tune",
    "path": "workshop.web.studies.path",
    "ways": "workshop.web.studies.ways",
}


def cards(report: Report) -> list[Card]:
    """All there is to see of a study, of whatever kind and however far it is; names of cards are its own."""
    module = MODULES.get(report.study.kind)
    return plain(report) if module is None else import_module(module).cards(report)
