"""Reads a machine from a file that lstopo wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from defusedxml.ElementTree import fromstring

from workshop.core.errors import BadInput

MOST_UNITS = 2048
MOST_NODES = 512
LARGEST_FILE = 8 << 20  # characters
LARGEST_UNIT = (1 << 16) - 1  # the operating system's number of a unit or a node
LONGEST_SET = 11 * ((LARGEST_UNIT + 1) // 32)  # characters: 0xffffffff, for every 32 units
UNNAMED = "A machine"  # of which the file doesn't tell the model
RIGHT = "it should be what lstopo writes as XML"

_ROOTS = ("Machine", "System", "NUMANode", "Node")  # hwloc's first version left out a machine of one NUMA node


def read(text: str) -> dict[str, Any]:
    """The machine in the text of a file, as `topology.machine` describes one, host "". Raises BadInput."""
    if len(text) > LARGEST_FILE:
        raise BadInput(f"This file is larger than {LARGEST_FILE >> 20} MB; lstopo writes far less of one machine.")
    try:
        # As bytes: a declaration of an encoding is an error in text that is decoded already.
        root = fromstring(text.encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise BadInput(f"This is no XML that can be read ({error}); {RIGHT}.") from None
    top = [child for child in root if child.tag == "object"]
    if root.tag != "topology" or len(top) != 1 or top[0].get("type") not in _ROOTS:
        raise BadInput(f"This XML doesn't describe a machine's topology: {RIGHT}.")
    try:
        walk = _Walk(top[0])
        walk.object(top[0], {})
    except ValueError as error:
        raise BadInput(f"This topology has a number that can't be read ({error}); {RIGHT}.") from None
    except RecursionError:
        raise BadInput(f"Objects of this topology lie too deep in each other; {RIGHT}.") from None
    return {"host": "", "model": _model(top[0]), "memory_bytes": walk.memory or None, "units": walk.machine_units()}


class _Walk:
    """Reads a topology's objects from the outside in."""

    def __init__(self, top: ElementTree.Element) -> None:
        self.units: list[dict[str, Any]] = []  # in logical order, with the objects that they lie in
        self.numbers: set[int] = set()
        self.packages: list[int] = []  # also those without an allowed unit, which Open MPI counts
        self.nodes: list[tuple[int, int]] = []  # a NUMA node's place in the file, and its set of units as bits
        self.memory = 0
        # The units and the NUMA nodes that hwloc lets programs have, as bits; -1: all.
        self.allowed = _bits(top.get("allowed_cpuset", "all"))
        self.allowed_nodes = _bits(top.get("allowed_nodeset", "all"))
        self.seen = 0

    def object(self, element: ElementTree.Element, inside: Mapping[str, int]) -> None:
        """Read one object and all in it; `inside` has the numbers of the objects around it."""
        kind = element.get("type", "")
        self.seen += 1
        if kind in ("Package", "Socket"):
            inside = {**inside, "package": self.seen}
            self.packages.append(self.seen)
        elif kind == "L3Cache" or (kind == "Cache" and element.get("depth") == "3"):
            inside = {**inside, "l3": self.seen}
        elif kind == "Core":
            inside = {**inside, "core": self.seen}
        elif kind in ("NUMANode", "Node"):
            number = _number(element, "NUMA node") if "os_index" in element.attrib else None
            if len(self.nodes) >= MOST_NODES:
                raise BadInput(f"This topology has more than {MOST_NODES} NUMA nodes.")
            if number is None or self.allowed_nodes >> number & 1:
                self.nodes.append((self.seen, _bits(element.get("cpuset", "0x0"))))
                self.memory += int(element.get("local_memory", 0))
        elif kind == "PU":
            self._unit(element, inside)
        for child in element.findall("object"):
            self.object(child, inside)

    def _unit(self, element: ElementTree.Element, inside: Mapping[str, int]) -> None:
        number = _number(element, "processing unit (PU)")
        if len(self.numbers) >= MOST_UNITS:
            raise BadInput(f"This topology has more than {MOST_UNITS} processing units.")
        if number in self.numbers:
            raise BadInput(f"Processing unit {number} is in this topology twice.")
        self.numbers.add(number)
        if self.allowed >> number & 1:
            self.units.append({"unit": number, "core": -self.seen, "package": 0, "l3": 0, **inside})

    def machine_units(self) -> list[dict[str, int]]:
        """All units with hwloc's logical numbers, in order of their own."""
        if not self.units:
            raise BadInput("There is no processing unit (PU) in this topology.")
        for unit in self.units:
            unit["numa"] = next((node for node, bits in self.nodes if bits >> unit["unit"] & 1), None)
            unit["l3"] = unit["l3"] or -unit["package"] - 1  # without such a cache: what a package has in common
        numbers: dict[str, dict[int | None, int]] = {}
        for what in ("core", "package", "numa", "l3"):
            counted = self.packages if what == "package" else []
            order = dict.fromkeys(
                [*counted, *(unit[what] for unit in self.units)]
            )  # as they come in the file: logical order
            # Units whose NUMA node isn't allowed have none; they get a number behind those of hwloc's nodes.
            numbers[what] = {key: number for number, key in enumerate(sorted(order, key=lambda key: key is None))}
        rows = [{"unit": unit["unit"], **{what: numbers[what][unit[what]] for what in numbers}} for unit in self.units]
        return sorted(rows, key=lambda row: row["unit"])


def _number(element: ElementTree.Element, what: str) -> int:
    """A number that the operating system gives. Raises BadInput for a number near 2^32, up to which hwloc would
    count."""
    if not 0 <= int(element.get("os_index", -1)) <= LARGEST_UNIT:
        raise BadInput(f"A {what} of this topology has no number (os_index) up to {LARGEST_UNIT}.")
    return int(element.get("os_index", -1))


def _bits(cpuset: str) -> int:
    """hwloc's set of units, words of 32 bits with the highest first, as one number; -1 for all units."""
    if cpuset == "all" or "..." in cpuset:  # all units from some number on: 0xf...f
        return -1
    if len(cpuset) > LONGEST_SET:
        raise ValueError(f"a set of units has {len(cpuset):,} characters")
    return sum(int(word or "0", 16) << 32 * place for place, word in enumerate(reversed(cpuset.split(","))))


def _model(top: ElementTree.Element) -> str:
    for info in top.iter("info"):
        if info.get("name") == "CPUModel":
            return " ".join(re.sub(r"[^\w() .,@/+-]", " ", info.get("value", "")).split())[:80] or UNNAMED
    return UNNAMED
