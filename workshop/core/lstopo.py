"""Reads a machine from a file that lstopo wrote, and writes it again for hwloc from the known parts. So
the file may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from workshop.core import xml_files
from workshop.core.errors import BadInput
from workshop.core.words import quoted

MOST_UNITS = 2048
LARGEST_FILE = 8 << 20  # characters
MOST_OBJECTS = 1 << 16
MOST_NODES = 512
LARGEST_UNIT = (1 << 16) - 1  # the operating system's number of a unit or a node: hwloc keeps sets up to the largest
LONGEST_SET = 11 * ((LARGEST_UNIT + 1) // 32)  # characters: 0xffffffff, for every 32 units
DEEPEST = 32  # objects inside each other; lstopo writes about ten
UNNAMED = "A machine"  # of which the file doesn't tell the model
RIGHT = "it should be what lstopo writes as XML"

# What of lstopo's file describes processors; the rest (devices, distances, names) is left out.
_ROOTS = ("Machine", "System", "NUMANode", "Node")  # hwloc's first version left out a machine of one NUMA node
_CONTAINERS = ("Machine", "System", "Package", "Socket", "Die", "Group", "NUMANode", "Node", "Core", "PU")
_CACHES = (
    "MemCache",  # in front of a NUMA node's memory, which lies in it
    "Cache",
    "L1Cache",
    "L2Cache",
    "L3Cache",
    "L4Cache",
    "L5Cache",
    "L1iCache",
    "L2iCache",
    "L3iCache",
)
_MCDRAM = {"name": "Type", "value": "MCDRAM"}  # a remark by which hwloc's second version reads the first one's file
_NUMBERS = (
    "os_index",
    "gp_index",
    "cache_size",
    "depth",
    "cache_linesize",
    "cache_associativity",
    "cache_type",
    "local_memory",
    "kind",
    "subkind",
)
_SETS = (
    "cpuset",
    "complete_cpuset",
    "allowed_cpuset",
    "online_cpuset",
    "nodeset",
    "complete_nodeset",
    "allowed_nodeset",
)
_NUMBER = re.compile(r"-?\d{1,20}")
_SET = re.compile(r"0x([0-9a-f]{1,8}|f\.\.\.f)(,(0x[0-9a-f]{1,8})?)*", re.I)


def read(text: str) -> tuple[dict[str, Any], str]:
    """The machine in the text of a file (as `topology.machine` describes one, host ""), and the text for hwloc. Raises
    BadInput."""
    if len(text) > LARGEST_FILE:
        raise BadInput(f"This file is larger than {LARGEST_FILE >> 20} MB; lstopo writes far less of one machine.")
    try:
        # As bytes: a declaration of an encoding is an error in text that is decoded already.
        root = xml_files.parse(text.encode(), named_type=True)
    except xml_files.Declares:
        raise BadInput("This XML declares a document type of its own or entities, which lstopo never does.") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise BadInput(f"This is no XML that can be read ({error}); {RIGHT}.") from None
    top = [child for child in root if child.tag == "object"]
    if root.tag != "topology" or len(top) != 1 or top[0].get("type") not in _ROOTS:
        raise BadInput(f"This XML doesn't describe a machine's topology: {RIGHT}.")
    walk = _Walk()
    lines = walk.object(top[0], {}, 1)
    machine = {"host": "", "model": _model(top[0]), "memory_bytes": walk.memory or None, "units": walk.machine_units()}
    first = str(root.get("version", "1")).startswith("1")  # hwloc's first version wrote none
    dtd, version = ("hwloc.dtd", "") if first else ("hwloc2.dtd", ' version="2.0"')
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "{dtd}">\n<topology{version}>\n'
    return machine, head + "\n".join(lines) + "\n</topology>\n"


class _Walk:
    """Reads a topology's objects from the outside in, and writes the parts that it understood."""

    def __init__(self) -> None:
        self.units: list[dict[str, Any]] = []  # in logical order, with the objects that they lie in
        self.numbers: set[int] = set()
        self.packages: list[int] = []  # also those without an allowed unit, which Open MPI counts
        self.nodes: list[tuple[int, int]] = []  # a NUMA node's place in the file, and its set of units as bits
        self.memory = 0
        self.allowed: int | None = None  # the units that hwloc lets programs have, as bits; None: all
        self.allowed_nodes: int | None = None  # and the NUMA nodes, by the operating system's numbers
        self.seen = 0

    def object(self, element: ElementTree.Element, inside: Mapping[str, int], depth: int) -> list[str]:
        """The lines of one object and all in it; `inside` has the numbers of the objects around it."""
        kind = element.get("type", "")
        if depth > DEEPEST:
            raise BadInput(f"Objects in this topology lie more than {DEEPEST} deep in each other; lstopo's don't.")
        if kind not in _CONTAINERS and kind not in _CACHES:
            return []  # devices and remarks
        attributes = _attributes(element, kind)
        self.seen += 1
        if self.seen > MOST_OBJECTS or len(self.nodes) > MOST_NODES:
            raise BadInput(f"This topology has more than {MOST_OBJECTS} objects, or {MOST_NODES} NUMA nodes.")
        if depth == 1:
            allowed = {name: _bits(value) for name, value in attributes.items() if name.startswith("allowed_")}
            self.allowed, self.allowed_nodes = allowed.get("allowed_cpuset"), allowed.get("allowed_nodeset")
        if kind in ("Package", "Socket"):
            inside = {**inside, "package": self.seen}
            self.packages.append(self.seen)
        elif kind == "L3Cache" or (kind == "Cache" and attributes.get("depth") == "3"):
            inside = {**inside, "l3": self.seen}
        elif kind == "Core":
            inside = {**inside, "core": self.seen}
        elif kind in ("NUMANode", "Node"):
            number = _number(attributes, "NUMA node") if "os_index" in attributes else None
            if self.allowed_nodes is None or number is None or self.allowed_nodes >> number & 1:
                self.nodes.append((self.seen, _bits(attributes.get("cpuset", "0x0"))))
                self.memory += int(attributes.get("local_memory", 0))
        elif kind == "PU":
            self._unit(attributes, inside)
        words = "".join(f' {name}="{value}"' for name, value in attributes.items())
        fast = kind in ("NUMANode", "Node") and any(info.attrib == _MCDRAM for info in element.findall("info"))
        inner = [line for child in element if child.tag == "object" for line in self.object(child, inside, depth + 1)]
        pad = "  " * depth
        if fast:
            inner.insert(0, f'{pad}  <info name="Type" value="MCDRAM"/>')
        if not inner:
            return [f'{pad}<object type="{kind}"{words}/>']
        return [f'{pad}<object type="{kind}"{words}>', *inner, f"{pad}</object>"]

    def _unit(self, attributes: Mapping[str, str], inside: Mapping[str, int]) -> None:
        number = _number(attributes, "processing unit (PU)")
        if len(self.numbers) >= MOST_UNITS:
            raise BadInput(f"This topology has more than {MOST_UNITS} processing units.")
        if number in self.numbers:
            raise BadInput(f"Processing unit {number} is in this topology twice.")
        self.numbers.add(number)
        if self.allowed is not None and not self.allowed >> number & 1:
            return
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


def _number(attributes: Mapping[str, str], what: str) -> int:
    """A number that the operating system gives to something of which hwloc keeps sets. Raises BadInput for a number
    near 2^32, because hwloc would count up to it."""
    if "os_index" not in attributes or not 0 <= int(attributes["os_index"]) <= LARGEST_UNIT:
        raise BadInput(f"A {what} of this topology has no number (os_index) up to {LARGEST_UNIT}.")
    return int(attributes["os_index"])


def _attributes(element: ElementTree.Element, kind: str) -> dict[str, str]:
    """The attributes that hwloc needs. Raises BadInput for values that it wouldn't have written."""
    attributes = {}
    for names, pattern in ((_NUMBERS, _NUMBER), (_SETS, _SET)):
        for name in names:
            value = element.get(name)
            if value is None:
                continue
            if len(value) > LONGEST_SET or not pattern.fullmatch(value):
                raise BadInput(f"{name} of a {kind} in this topology is {quoted(value)}, which lstopo doesn't write.")
            attributes[name] = value
    return attributes


def _bits(cpuset: str) -> int:
    """hwloc's set of units, words of 32 bits with the highest first, as one number."""
    if "..." in cpuset:  # all units from some number on: 0xf...f
        return (1 << LARGEST_UNIT + 1) - 1
    return sum(int(word or "0", 16) << 32 * place for place, word in enumerate(reversed(cpuset.split(","))))


def _model(top: ElementTree.Element) -> str:
    for info in top.iter("info"):
        if info.get("name") == "CPUModel":
            return " ".join(re.sub(r"[^\w() .,@/+-]", " ", info.get("value", "")).split())[:80] or UNNAMED
    return UNNAMED
