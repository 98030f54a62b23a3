"""Where the description of a machine comes from: this one, a few numbers (`2x4x2`), or a file that lstopo wrote.

A description is what `core.topology` makes of this machine, with an empty host name: logical numbers, unique on
the host. It comes with the text from which hwloc can simulate the machine, so that an MPI's mapper can answer for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import lstopo, topology
from workshop.core.errors import BadInput
from workshop.core.lstopo import MOST_UNITS
from workshop.core.words import count, quoted

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

    def count(self, what: str) -> int:
        """How many of `unit`, `core`, `l3`, `numa` or `package` there are."""
        return len({row[what] for row in self.units})

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
    for number, what in ((numa, "NUMA nodes"), (l3, "L3 caches")):
        if cores % number:
            raise BadInput(f"{cores} cores of a package can't be shared out evenly over {number} {what}.")
    if l3 % numa and numa % l3:
        raise BadInput(
            f"{numa} NUMA nodes and {l3} L3 caches of a package don't lie in each other; one should be a multiple of "
            "the other."
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
    machine = lstopo.read(text)
    units = count(len(machine["units"]), "unit")
    name = f"a machine of {units}" if machine["model"] == lstopo.UNNAMED else f"{machine['model']}, {units}"
    return MachineDescription(name, machine, xml=text)
