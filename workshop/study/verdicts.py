"""Verdicts of studies: a package's `verdicts.yaml` has the rules of its kinds; here they are read and applied. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel

from workshop.core import words
from workshop.report.rules import Rule, Text, holding, say, with_sentences
from workshop.study.results import ENOUGH, CellResult, ranked


class Verdicts(BaseModel, frozen=True, extra="forbid"):
    """The rules of one kind of study, and what begins and ends its reasons."""

    sentences: Mapping[str, Text] = {}
    begin: tuple[Text, ...] = ()
    rules: tuple[Rule, ...] = ()
    end: tuple[Text, ...] = ()


@cache
def read(kind: str, package: str = __package__) -> Verdicts:
    """The verdicts of a kind, with the sentences of its file, and its rules for studies that have measured too
    little."""
    text = (files(package) / "verdicts.yaml").read_text(encoding="utf-8")
    document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    chosen = document[kind]
    chosen["sentences"] = {**document.get("sentences", {}), **chosen.get("sentences", {})}
    chosen["rules"] = [*document.get("too_little", []), *chosen["rules"]]
    return Verdicts(**chosen)


def reason(kind: str, named: Mapping[str, Any]) -> str:
    """The reason of the first rule that holds, by itself."""
    verdicts = read(kind)
    return next(finding.why for _, finding in holding(verdicts.rules, with_sentences(verdicts.sentences, named)))


def verdict(kind: str, named: Mapping[str, Any], package: str = __package__) -> dict[str, str]:
    """Verdict, why and next by the first rule that holds."""
    verdicts = read(kind, package)
    facts = with_sentences(verdicts.sentences, named)
    finding = next(finding for _, finding in holding(verdicts.rules, facts))
    begin, end = ([say(text, facts) for text in texts] for texts in (verdicts.begin, verdicts.end))
    return {
        "verdict": finding.verdict,
        "why": " ".join(filter(None, [*begin, finding.why, *end])),
        "next": finding.following,
    }


def facts(cells: Sequence[CellResult], unit: str, finished: bool) -> dict[str, Any]:
    """Facts of the cells of any kind of study, by the names that rules use."""
    measured = ranked(cells)

    def rate(cell: CellResult) -> str:
        return f"{words.quantity(cell.median or 0.0)} {unit}"

    def between(cell: CellResult) -> str:
        if len(cell.rates) < 2:
            return ""
        return f" ({words.quantity(min(cell.rates))} to {words.quantity(max(cell.rates))} in {len(cell.rates)} runs)"

    return {
        "cells": len(cells),
        "measured": len(measured),
        "best": measured[0] if measured else None,
        "few": sum(len(cell.rates) < ENOUGH for cell in measured) if len(measured) > 1 else 0,
        "failed": [cell for cell in cells if cell.status == "failed"],
        "pruned": sum(cell.status == "pruned" for cell in cells),
        "enough": ENOUGH,
        "unit": unit,
        "finished": finished,
        "rate": rate,
        "between": between,
        "reached": lambda cell: f"{words.capital(cell.label)} reached {rate(cell)}{between(cell)}",
    }
