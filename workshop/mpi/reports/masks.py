"""Open MPI 4's notation of bindings: `[BB/../..][../../..]` has brackets for packages, slashes between cores, and a
letter for each hardware thread, B where the rank may run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from workshop.core import topology, words
from workshop.mpi.reports.bindings import Rows, excerpt, numbers, row, wrong

MASK = re.compile(r"(?:\[[B.~/]*\])+")
_WORDS = re.compile(r"socket ([0-9]{1,6})\[core ([0-9]{1,6})\[hwt ([0-9,-]{1,200})\]\]")
RIGHT = "it should be like [BB/../..][../../..]: brackets for packages, / between cores, a letter per hardware thread"


def mask(report: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    """How Open MPI 4 writes where a rank may run. `report` is the rank's part of a rank map; a host that the machine
    doesn't have gives an empty text."""
    allowed = set(report.get("units") or [])
    packages = []
    for _, of_package in groupby(_ordered(report, machine), key=lambda row: row["package"]):
        cores = [
            "".join("B" if row["unit"] in allowed else "." for row in of_core)
            for _, of_core in groupby(of_package, key=lambda row: row["core"])
        ]
        packages.append(f"[{'/'.join(cores)}]")
    return "".join(packages)


def masks(rank_map: Mapping[str, Any], machine: Mapping[str, Any]) -> list[str]:
    """The lines that Open MPI 4's --report-bindings would print, in rank order."""
    return [_line(report, machine) for report in rank_map.get("ranks") or []]


def _line(report: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    start = f"[{report['host']}:{report.get('pid') or 0}] MCW rank {report['rank']} "
    rows, allowed = _ordered(report, machine), set(report.get("units") or [])
    if not allowed or len(allowed) == len(rows):
        return f"{start}is not bound (or bound to all available processors)"
    cores = []
    for core, of_core in groupby(rows, key=lambda row: row["core"]):
        threads = list(of_core)
        numbers_allowed = [number for number, row in enumerate(threads) if row["unit"] in allowed]
        if numbers_allowed:
            cores.append(f"socket {threads[0]['package']}[core {core}[hwt {words.ranges(numbers_allowed)}]]")
    return f"{start}bound to {', '.join(cores)}: {mask(report, machine)}"


def _ordered(report: Mapping[str, Any], machine: Mapping[str, Any]) -> Rows:
    """The units of the rank's host in the order of hwloc's logical numbers."""
    described = topology.machines(dict(machine)).get(report["host"]) or {}
    return sorted(described.get("units") or [], key=lambda row: (row["package"], row["core"], row["unit"]))


def read_mask(text: str, line: int) -> tuple[Rows, tuple[int, ...]]:
    """The machine's units in a mask, by logical number, and the units where the rank may run. Raises BadInput."""
    rows: Rows = []
    allowed: list[int] = []
    core = 0
    text = text.strip()
    for package, of_package in enumerate(text[1:-1].split("][")):
        for letters in of_package.split("/"):
            if not letters or set(letters) - set("B.~"):
                raise wrong(line, f"the mask is {excerpt(text)}; {RIGHT}.")
            for letter in letters:
                if letter == "B":
                    allowed.append(len(rows))
                rows.append(row(len(rows), core, package))
            core += 1
    if not allowed:
        raise wrong(line, f"the mask {excerpt(text)} has no B, so the rank could run nowhere.")
    return rows, tuple(allowed)


def check_words(text: str, rows: Rows, allowed: Sequence[int], line: int) -> None:
    """Compare the words before a mask (`socket 0[core 1[hwt 0-1]], …`), if there are any, with the mask itself."""
    places = _WORDS.findall(text)
    units: dict[tuple[int, int], list[int]] = {}
    for unit in rows if places else ():
        units.setdefault((unit["package"], unit["core"]), []).append(unit["unit"])
    units_in_words: set[int] = set()
    for package, core, threads in places:
        of_core = units.pop((int(package), int(core)), None)  # each core is named once
        if of_core is None:
            raise wrong(line, f"the words {excerpt(text)} tell of core {core} in package {package}, the mask doesn't.")
        units_in_words |= {
            of_core[n] for n in numbers(threads, line, f"hardware threads of core {core}", len(of_core) - 1)
        }
    if places and units_in_words != set(allowed):
        raise wrong(line, f"the words {excerpt(text)} and the mask behind them don't say the same.")
