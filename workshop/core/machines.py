"""Where the description of a machine comes from: this one, a few numbers (`2x4x2`), or a file that lstopo wrote.

A description is what `core.topology` makes of this machine, with an empty host name: logical numbers, unique on
the host. It comes with the text from which hwloc can simulate the machine, so that an MPI's mapper can answer for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from defusedxml.ElementTree import fromstring

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.words import count, quoted

KEYS = {"hwthread": "unit", "l3cache": "l3"}  # of a machine's units, where they aren't called as the resource
MOST_UNITS = 2048
UNNAMED = "A machine"  # of which lstopo's file doesn't tell the model
_RIGHT = "it should be what lstopo writes as XML"
_ROOTS = ("Machine", "System", "NUMANode", "Node")  # hwloc's first version left out a machine of one NUMA node
_SHAPE = re.compile(r"(\d{1,4})\s*[x×]\s*(\d{1,4})(?:\s*[x×]\s*(\d{1,4}))?", re.I)
_EXPECTED = (
    "it should be the word this (for this machine); numbers of packages, cores of each and hardware threads of each "
    "core, like 2x4 or 2x4x2, with ,numa=N and ,l3=N where a package has several; or an XML file that lstopo wrote"
)


@dataclass(frozen=True)
class MachineDescription:
    """A machine, and the form in which hwloc gets it: a description, a file's text, or neither for this machine."""

    name: str
    machine: dict[str, Any]  # as topology.machine, host ""
    synthetic: str | None = None
    xml: str | None = None

    @property
    def real(self) -> bool:
        """Whether it is the machine that this program runs on."""
        return self.synthetic is None and self.xml is None

    @property
    def cores(self) -> int:
        """How many cores ranks may use."""
        return topology.allowed_cores(self.machine) if self.real else len({row["core"] for row in self.units})

    @property
    def units(self) -> list[Mapping[str, Any]]:
        units: list[Mapping[str, Any]] = self.machine["units"]
        return units

    def count(self, resource: str) -> int:
        """How many cores, packages and so on there are; a resource is called as in a placement, or as in `units`."""
        return len({row[KEYS.get(resource, resource)] for row in self.units})

    def as_hosts(self, names: Iterable[str]) -> dict[str, Any]:
        """The machine of a run on these hosts (at least one), which are all alike."""
        return topology.together(self.machine | {"host": name} for name in names)


def read(text: str) -> MachineDescription:
    """A machine from what a person gives: `this`, `2x4`, `2x4x2`, `2x8x2,numa=2,l3=4` (each per package), or the text
    of a file that lstopo wrote. Raises BadInput."""
    words = text.strip()
    if words.lower() in ("", "this"):
        return this()
    if words.startswith("<") or len(words) > 200:
        return from_lstopo(text)
    shape, *more = words.split(",")
    counts: dict[str, int] = {}
    for word in more:
        name, _, number = (part.strip() for part in word.partition("="))
        if name.lower() not in ("numa", "l3") or not re.fullmatch(r"\d{1,4}", number):
            raise BadInput(f"{word.strip()!r} is no part of a machine: behind {shape} come numa=N and l3=N.")
        counts[name.lower()] = int(number)
    return synthetic(shape, **counts)


def this() -> MachineDescription:
    """The machine that this program runs on."""
    return MachineDescription("this machine", topology.machine() | {"host": ""})


def synthetic(shape: str, numa: int = 1, l3: int = 1) -> MachineDescription:
    """An invented machine: packages x cores of each [x hardware threads of each core], with so many NUMA nodes and
    last-level caches in each package. Raises BadInput."""
    match = _SHAPE.fullmatch(shape.strip())
    if not match:
        raise BadInput(f"{quoted(shape)} is not a machine: {_EXPECTED}.")
    packages, cores, threads = int(match[1]), int(match[2]), int(match[3] or 1)
    if min(packages, cores, threads, numa, l3) < 1:
        raise BadInput(f"{shape.strip()} is not a machine: it needs at least one of everything.")
    if packages * cores * threads > MOST_UNITS:
        raise BadInput(
            f"{shape.strip()} has {packages * cores * threads} processing units; machines here have at most "
            f"{MOST_UNITS}."
        )
    if cores % numa or cores % l3 or (l3 % numa and numa % l3):
        raise BadInput(
            f"{cores} cores of a package can't be shared out evenly over {numa} NUMA nodes and {l3} L3 caches: it "
            "should be a multiple of both, and one of these a multiple of the other."
        )
    if numa == 1:
        inside = f"[numa] l3:{l3} core:{cores // l3}"
    elif l3 % numa == 0:
        inside = f"numa:{numa} l3:{l3 // numa} core:{cores // l3}"
    else:
        inside = f"l3:{l3} numa:{numa // l3} core:{cores // numa}"
    units = [
        {
            "unit": (package * cores + core) * threads + thread,
            "core": package * cores + core,
            "package": package,
            "numa": package * numa + core * numa // cores,
            "l3": package * l3 + core * l3 // cores,
        }
        for package in range(packages)
        for core in range(cores)
        for thread in range(threads)
    ]
    name = f"{packages}x{cores}" + (f"x{threads}" if match[3] else "")
    name += (f",numa={numa}" if numa > 1 else "") + (f",l3={l3}" if l3 > 1 else "")
    model = f"{packages} × {cores} cores" + (f" × {threads} hardware threads" if threads > 1 else "")
    machine = {"host": "", "model": model, "memory_bytes": None, "units": units}
    return MachineDescription(name, machine, synthetic=f"pack:{packages} {inside} pu:{threads}")


def from_lstopo(text: str) -> MachineDescription:
    """A machine from the text of a file that lstopo wrote (`lstopo machine.xml`). Raises BadInput."""
    try:
        # As bytes: a declaration of an encoding is an error in text that is decoded already.
        root = fromstring(text.encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise BadInput(f"This is no XML that can be read ({error}); {_RIGHT}.") from None
    top = [child for child in root if child.tag == "object"]
    if root.tag != "topology" or len(top) != 1 or top[0].get("type") not in _ROOTS:
        raise BadInput(f"This XML doesn't describe a machine's topology: {_RIGHT}.")
    try:
        walk = _Walk(top[0])
        walk.object(top[0], {})
    except ValueError as error:
        raise BadInput(f"This topology has a number that can't be read ({error}); {_RIGHT}.") from None
    model, rows = _model(top[0]), walk.machine_units()
    machine = {"host": "", "model": model, "memory_bytes": walk.memory or None, "units": rows}
    units = count(len(rows), "unit")
    name = f"a machine of {units}" if model == UNNAMED else f"{model}, {units}"
    return MachineDescription(name, machine, xml=text)


class _Walk:
    """Reads a topology's objects from the outside in."""

    def __init__(self, top: ElementTree.Element) -> None:
        self.units: list[dict[str, Any]] = []  # in logical order, with the objects that they lie in
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
            if "os_index" not in element.attrib or self.allowed_nodes >> int(element.attrib["os_index"]) & 1:
                self.nodes.append((self.seen, _bits(element.get("cpuset", "0x0"))))
                self.memory += int(element.get("local_memory", 0))
        elif kind == "PU":
            number = int(element.get("os_index", ""))
            if self.allowed >> number & 1:
                self.units.append({"unit": number, "core": -self.seen, "package": 0, "l3": 0, **inside})
        for child in element.findall("object"):
            self.object(child, inside)

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
            order = dict.fromkeys([*counted, *(unit[what] for unit in self.units)])  # of the file: logical order
            # Units whose NUMA node isn't allowed have none; they get a number behind those of hwloc's nodes.
            numbers[what] = {key: number for number, key in enumerate(sorted(order, key=lambda key: key is None))}
        rows = [{"unit": unit["unit"], **{what: numbers[what][unit[what]] for what in numbers}} for unit in self.units]
        return sorted(rows, key=lambda row: row["unit"])


def _bits(cpuset: str) -> int:
    """hwloc's set of units, words of 32 bits with the highest first, as one number; -1 for all units."""
    if cpuset == "all" or "..." in cpuset:  # all units from some number on: 0xf...f
        return -1
    return sum(int(word or "0", 16) << 32 * place for place, word in enumerate(reversed(cpuset.split(","))))


def _model(top: ElementTree.Element) -> str:
    for info in top.iter("info"):
        if info.get("name") == "CPUModel":
            return " ".join(re.sub(r"[^\w() .,@/+-]", " ", info.get("value", "")).split())[:80] or UNNAMED
    return UNNAMED
