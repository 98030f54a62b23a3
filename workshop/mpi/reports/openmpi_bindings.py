"""What Open MPI says of bindings in words: `--report-bindings` and `--display map` of versions 5 and 4.

Version 5 names packages and cores (`package[0][core:L0-1]`), version 4 draws masks (see `masks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workshop.mpi.reports import masks
from workshop.mpi.reports.seats import HOST, MappingReport, RankSeat, RankSeats, Rows, numbers, row, shown, wrong

# Lines that are about a rank's binding, however garbled they are beyond these words.
_REPORTED = re.compile(r"[Rr]ank ([0-9]{1,9}) (is not bound|bound to)")
_WHERE = re.compile(rf"\[({HOST}):([0-9]{{1,10}})\]\]? (?:MCW )?$")
_MEANT = re.compile(r"\s*(package\[|socket [0-9]|\(or bound to all)")
_NODE = re.compile(rf"Data for node: ({HOST})\s")
_PROCESS = re.compile(r"Data for proc: \[[^\]\s]{1,300},([0-9]{1,9})\]")
_BINDING = re.compile(r"^\s*Binding: (.*)$")
_PROCESS4 = re.compile(r"Process OMPI jobid: .{1,100}Process rank: ([0-9]{1,9}) Bound: (.*)$")
_PLACE = re.compile(r"package\[([0-9]{1,6})\]\[(core|hwt):([LP]?)([0-9,L-]{1,9000})\]")
_PREFIX = 400  # characters before a report that can name its host


def read(text: str) -> MappingReport | None:
    """The bindings in a text, which may have other output around them; None where there are none. Raises BadInput."""
    found = _BindingsReader()
    for line, words in enumerate(text.split("\n"), 1):
        found.take(line, words.rstrip("\r"))
    return found.report()


class _BindingsReader:
    """Takes in a text line by line; `--display map` tells host, rank and binding in lines of their own."""

    def __init__(self) -> None:
        self.reported = RankSeats()
        self.mapped = RankSeats()
        self.drawn: dict[str, tuple[int, Rows]] = {}  # by host: the line and the machine of its first mask
        self.old = False  # whether version 4 wrote this
        self.node = ""
        self.process: tuple[int, int] | None = None  # rank and line

    def take(self, line: int, words: str) -> None:
        if found := _REPORTED.search(words):
            where = _WHERE.search(words[max(found.start() - _PREFIX, 0) : found.start()])
            if where is None and not _MEANT.match(words, found.end()):
                return  # something that a program says of its ranks
            if where is None:
                raise wrong(line, f"{shown(words)} should begin with the host, like [node1:4711].")
            self.old |= where[0].endswith("MCW ")
            told = words[found.end() :] if found[2] == "bound to" else None
            self.reported.add(self._seat(int(found[1]), where[1], told, line))
        elif found := _NODE.search(words):
            self.node = found[1]
        elif found := _PROCESS.search(words):
            self._told()
            self.process = int(found[1]), line
        elif (found := _BINDING.search(words)) and self.process:
            self._map(self.process[0], found[1].strip(), line)
            self.process = None
        elif found := _PROCESS4.search(words):
            told = found[2].strip()
            # PRRTE's table has Open MPI 4's form and Open MPI 5's words.
            self.old |= not told.startswith(("package[", "UNBOUND"))
            self._map(int(found[1]), told, line)

    def _told(self) -> None:
        """Each process has to have its binding before the next one comes."""
        if self.process:
            raise wrong(self.process[1], f"rank {self.process[0]} has no line with its binding; give the whole map.")

    def _map(self, rank: int, told: str, line: int) -> None:
        if not self.node:
            raise wrong(line, "the line that names the host (Data for node: …) is missing above; give the whole map.")
        if told == "N/A":  # a host about which mpirun knew nothing yet: it doesn't say
            self.mapped.add(RankSeat(rank, self.node, line, bound=None))
            return
        self.mapped.add(self._seat(rank, self.node, None if told == "UNBOUND" else told, line))

    def _seat(self, rank: int, host: str, told: str | None, line: int) -> RankSeat:
        if told is None:
            return RankSeat(rank, host, line, bound=False)
        if "package[" in told:
            return _placed(rank, host, told, line)
        words, colon, drawn = told.rpartition(":")
        if not colon or not masks.MASK.fullmatch(drawn.strip()):
            raise wrong(
                line, f"rank {rank} is bound to {shown(told)}; it should be like package[0][core:L0-1] or a mask."
            )
        rows, allowed = masks.read_mask(drawn, line)
        masks.check_words(words, rows, allowed, line)
        first, known = self.drawn.setdefault(host, (line, rows))
        if known != rows:
            raise wrong(line, f"this mask has another form than that of {host} in line {first}.")
        return RankSeat(rank, host, line, hardware_threads=allowed)

    def report(self) -> MappingReport | None:
        self._told()
        seats = self.reported or self.mapped  # what was done counts for more than what was planned
        if not seats:
            return None
        if self.drawn:
            mixed = next((seat for seat in seats if seat.cores or seat.packages), None)
            if mixed:
                raise wrong(mixed.line, "this is Open MPI 5's notation, but other lines have Open MPI 4's; give one.")
            rows = {host: drawn for host, (_, drawn) in self.drawn.items()}
            return MappingReport("openmpi4", seats, rows, frozenset({"cores", "packages"}), "both")
        return MappingReport("openmpi4" if self.old else "openmpi5", seats, _rows(seats), _knows(seats))


def _placed(rank: int, host: str, told: str, line: int) -> RankSeat:
    """Read version 5's words: places in one or several packages."""
    places = _PLACE.findall(told)
    if not places or _PLACE.sub("", told).strip(" ,\t"):
        raise wrong(line, f"rank {rank} is bound to {shown(told)}; it should be like package[0][core:L0-1].")
    kinds = {(kind, sign) for _, kind, sign, _ in places}
    if len(kinds) > 1:
        raise wrong(line, f"rank {rank} is bound to cores and to hardware threads; it should be one of them.")
    ((kind, sign),) = kinds
    if len({package for package, *_ in places}) < len(places):
        raise wrong(
            line, f"rank {rank} is bound to {shown(told)}, which names a package twice; it should be there once."
        )
    if (kind, sign) == ("core", "P"):
        raise wrong(line, "these are physical numbers of cores, which only that machine knows; give logical ones.")
    there: dict[int, int] = {}  # the package of each place
    for package, _, _, list_ in places:
        for place in numbers(list_.replace("L", ""), line, f"the {kind}s"):
            if there.setdefault(place, int(package)) != int(package):
                raise wrong(line, f"rank {rank} is bound to {kind} {place} in two packages; it lies in one of them.")
    ordered, packages = tuple(sorted(there)), tuple(there[place] for place in sorted(there))
    if kind == "core":
        return RankSeat(rank, host, line, cores=ordered, packages=packages)
    # What version 5 calls logical numbers of hardware threads (hwt:L) are the operating system's.
    return RankSeat(rank, host, line, units=ordered, packages=packages)


def _knows(seats: Iterable[RankSeat]) -> frozenset[str]:
    return frozenset({"cores", "packages"} if any(seat.cores for seat in seats) else {"packages"})


def _rows(seats: Iterable[RankSeat]) -> dict[str, Rows]:
    """The parts of the machines that ranks are bound to. Raises BadInput where two ranks contradict each other."""
    packages: dict[str, dict[int, int]] = {}
    for seat in seats:
        there = packages.setdefault(seat.host, {})
        for place, package in zip((*seat.cores, *seat.units), seat.packages, strict=True):
            if there.setdefault(place, package) != package:
                raise wrong(seat.line, f"{place} is in package {package} here, but in {there[place]} further above.")
    return {host: [row(place, place, there[place]) for place in sorted(there)] for host, there in packages.items()}
