"""The machine with its ranks, as a section of a live page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.analysis import words
from workshop.analysis.oversubscription import oversubscription
from workshop.figures import theme
from workshop.figures.machine import machine_picture, sharing_words
from workshop.web.words import dumps


def machine_section(
    machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None, placement: Mapping[str, Any]
) -> str:
    """Picture, table of ranks, and who has to share what; null where there is nothing to draw."""
    if not machine and not rank_map:
        return "null"
    threads = placement.get("threads") or placement.get("cores_per_rank") or 1
    rest = dumps(
        {
            "ranks": [_rank(report, machine) for report in (rank_map or {}).get("ranks") or []],
            "sharing": sharing_words(oversubscription(rank_map, machine, threads)),
        }
    )
    return f'{{"figure":{machine_picture(machine, rank_map, threads).to_json()},{rest[1:]}'


def _rank(report: Mapping[str, Any], machine: Mapping[str, Any] | None) -> dict[str, Any]:
    threads = report.get("threads") or []
    seen = sorted({unit for thread in threads for unit in thread.get("units_seen") or []})
    everywhere = machine and machine["host"] == report["host"] and len(report["units"]) == len(machine["units"])
    return {
        "rank": report["rank"],
        "colour": theme.rank_colour(report["rank"]),
        "host": report["host"],
        "pid": report["pid"],
        "bound": "any unit (unbound)"
        if everywhere and len(report["units"]) > 1
        else f"{words.numbered('unit', report['units'])} in {words.numbered('core', report['cores'])}",
        "threads": words.count(len(threads), "thread") + (f", seen on {words.numbered('unit', seen)}" if seen else ""),
    }
