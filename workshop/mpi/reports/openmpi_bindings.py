"""Open MPI's output on bindings in words: `--report-bindings` of versions 5 and 4, `--display map` of version 5.

Version 5 names packages and cores (`package[0][core:L0-1]`), version 4 draws masks (see `read_mask`).

Open MPI 4's notation of bindings: `[BB/../..][../../..]` has brackets for packages, slashes between cores, and a
letter for each hardware thread, B where the rank may run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from workshop.core import topology
from workshop.mpi.reports.bindings import (
    HOST,
    MappingReport,
    RankBinding,
    Rows,
    excerpt,
    numbers,
    row,
    wrong,
)

# Lines that are about a rank's binding, however garbled they are beyond these words.
_REPORTED = re.compile(r"[Rr]ank ([0-9]{1,9}) (is not bound|bound to)")
_WHERE = re.compile(rf"\[({HOST}):([0-9]{{1,10}})\]\]?\s{{1,20}}(?:MCW\s{{1,20}})?$")
_BINDING_WORDS = re.compile(r"\s*(package\[|socket [0-9]|\(or bound to all)")
_NODE = re.compile(rf"Data for node: ({HOST})\s")
_PROCESS = re.compile(r"Data for proc: \[[^\]\s]{1,300},([0-9]{1,9})\]")
_BINDING = re.compile(r"^\s*Binding: (.*)$")
_PLACE = re.compile(r"package\[([0-9]{1,6})\]\[(core|hwt):([LP]?)([0-9,L-]{1,9000})\]")
_VERSION_4, _VERSION_5 = "Bindings of Open MPI 2 to 4", "Open MPI 5's bindings"
_PREFIX = 400  # characters before a report that can name its host


def read(text: str) -> MappingReport | None:
    """The bindings in a text, which may have other output around them; None where there are none. Raises BadInput."""
    reader = _BindingsReader()
    for number, line in enumerate(text.split("\n"), 1):
        reader.take(number, line.rstrip("\r"))
    return reader.report()


class _BindingsReader:
    """Takes in a text line by line; `--display map` tells host, rank and binding in lines of their own."""

    def __init__(self) -> None:
        self.reported = list[RankBinding]()
        self.mapped = list[RankBinding]()
        self.drawn: dict[str, Rows] = {}  # by host: the machine of its first mask
        self.name = _VERSION_5  # of what it is, as far as lines of unbound ranks tell
        self.node = ""
        self.process: int | None = None  # its rank

    def take(self, line: int, words: str) -> None:
        if match := _REPORTED.search(words):
            where = _WHERE.search(words[max(match.start() - _PREFIX, 0) : match.start()])
            if where is None and not _BINDING_WORDS.match(words, match.end()):
                return  # something that a program says of its ranks
            if where is None:
                raise wrong(line, f"{excerpt(words)} should begin with the host, like [node1:4711].")
            if "MCW" in where[0]:
                self.name = f"{_VERSION_4}, or of PRRTE"
            place = words[match.end() :] if match[2] == "bound to" else None
            self.reported.append(self._binding(int(match[1]), where[1], place, line))
        elif match := _NODE.search(words):
            self.node = match[1]
        elif match := _PROCESS.search(words):
            self.process = int(match[1])
        elif (match := _BINDING.search(words)) and self.process is not None:
            self._map(self.process, match[1].strip(), line)
            self.process = None

    def _map(self, rank: int, place: str, line: int) -> None:
        if not self.node:
            raise wrong(line, "the line that names the host (Data for node: …) is missing above; give the whole map.")
        if place in ("N/A", "(null)"):  # of a host that mpirun didn't know yet, or of one without packages
            self.mapped.append(RankBinding(rank, self.node, line, bound=None))
            return
        self.mapped.append(self._binding(rank, self.node, None if place == "UNBOUND" else place, line))

    def _binding(self, rank: int, host: str, place: str | None, line: int) -> RankBinding:
        if place is None:
            return RankBinding(rank, host, line, bound=False)
        if "package[" in place:
            return _placed(rank, host, place, line)
        _, colon, drawing = place.rpartition(":")
        if not colon or not MASK.fullmatch(drawing.strip()):
            raise wrong(
                line, f"rank {rank} is bound to {excerpt(place)}; it should be like package[0][core:L0-1] or a mask."
            )
        rows, allowed = read_mask(drawing, line)
        if self.drawn.setdefault(host, rows) != rows:
            raise wrong(line, f"this mask has another form than that of {host} further above.")
        return RankBinding(rank, host, line, hardware_threads=allowed)

    def report(self) -> MappingReport | None:
        bindings = self.reported or self.mapped  # what was done counts for more than what was planned
        if not bindings:
            return None
        if self.drawn:
            return MappingReport(_VERSION_4, bindings, self.drawn, frozenset({"cores", "packages"}), shows_machine=True)
        placed = any(binding.packages for binding in bindings)  # in words that Open MPI 4 doesn't have
        return MappingReport(_VERSION_5 if placed else self.name, bindings, _rows(bindings), _knows(bindings))


def _placed(rank: int, host: str, text: str, line: int) -> RankBinding:
    """Read version 5's words: places in one or several packages."""
    places = _PLACE.findall(text)
    if not places or _PLACE.sub("", text).strip(" ,\t"):
        raise wrong(line, f"rank {rank} is bound to {excerpt(text)}; it should be like package[0][core:L0-1].")
    kinds = {(kind, sign) for _, kind, sign, _ in places}
    if len(kinds) > 1:
        raise wrong(line, f"rank {rank} is bound to cores and to hardware threads; it should be one of them.")
    ((kind, sign),) = kinds
    if (kind, sign) == ("core", "P"):
        raise wrong(line, "these are physical numbers of cores, which only that machine knows; give logical ones.")
    package_of_place: dict[int, int] = {}  # the package of each place
    for package, _, _, list_ in places:
        for place in numbers(list_.replace("L", ""), line, f"the {kind}s"):
            package_of_place[place] = int(package)
    ordered = tuple(sorted(package_of_place))
    packages = tuple(package_of_place[place] for place in ordered)
    if kind == "core":
        return RankBinding(rank, host, line, cores=ordered, packages=packages)
    # What version 5 calls logical numbers of hardware threads (hwt:L) are the operating system's.
    return RankBinding(rank, host, line, units=ordered, packages=packages)


def _knows(bindings: Iterable[RankBinding]) -> frozenset[str]:
    return frozenset({"cores", "packages"} if any(binding.cores for binding in bindings) else {"packages"})


def _rows(bindings: Iterable[RankBinding]) -> dict[str, Rows]:
    """The parts of the machines that ranks are bound to."""
    packages: dict[str, dict[int, int]] = {}
    for binding in bindings:
        package_of_place = packages.setdefault(binding.host, {})
        for place, package in zip((*binding.cores, *binding.units), binding.packages, strict=True):
            package_of_place[place] = package
    return {
        host: [row(place, place, package_of_place[place]) for place in sorted(package_of_place)]
        for host, package_of_place in packages.items()
    }


MASK = re.compile(r"(?:\[[B.~/]*\])+")
RIGHT = "it should be like [BB/../..][../../..]: brackets for packages, / between cores, a letter per hardware thread"


def mask(report: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    """How Open MPI 4 writes where a rank may run. `report` is the rank's part of a rank map; a host that the machine
    doesn't have gives an empty text."""
    allowed = set(report.get("units") or [])
    described = topology.machines(dict(machine)).get(report["host"]) or {}
    rows = sorted(described.get("units") or [], key=lambda row: (row["package"], row["core"], row["unit"]))
    packages = []
    for _, of_package in groupby(rows, key=lambda row: row["package"]):
        cores = [
            "".join("B" if row["unit"] in allowed else "." for row in of_core)
            for _, of_core in groupby(of_package, key=lambda row: row["core"])
        ]
        packages.append(f"[{'/'.join(cores)}]")
    return "".join(packages)


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
