"""Open MPI 5's map as XML, which `--display map:parsable` prints."""

from __future__ import annotations

import re
from xml.parsers import expat

from workshop.mpi.reports.bindings import HOST, MappingReport, RankBinding, excerpt, number, numbers, row, wrong

CUT = "Open MPI 5.0 cuts it off where ranks are bound to many cores; then give what --display map prints."
_START = re.compile(r"<map\b")
_END = "</map>"
MOST_UNITS = 1 << 18  # of all hosts together


def read(text: str) -> MappingReport | None:
    """The map in a text, which may have other output around it; None where there is none. Raises BadInput."""
    starts = list(_START.finditer(text))
    if not starts:
        return None
    first = text.count("\n", 0, starts[0].start()) + 1
    if len(starts) > 1:
        line = text.count("\n", 0, starts[1].start()) + 1
        raise wrong(line, f"a second map begins here, after the one in line {first}; give one at a time.")
    before = text[: starts[0].start()]
    if "<!" in before:
        line = before.count("\n", 0, before.index("<!")) + 1
        raise wrong(line, "Open MPI's map has no document type and no entities; give it as mpirun prints it.")
    end = text.find(_END, starts[0].start())
    if end < 0:
        raise wrong(first, "the map that begins here has no end (</map>); give all of it.")
    return _MapReader(first).read(text[starts[0].start() : end + len(_END)])


class _MapReader:
    """Reads the map's elements as expat meets them, and keeps their contents alone."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.report = MappingReport("openmpi-xml", knows=frozenset({"packages"}))
        self.path: list[str] = []
        self.host = ""
        self.rank: tuple[int, int] | None = None  # and its line
        self.package = 0
        self.packages: list[int] = []  # one for each place
        self.places: dict[str, list[int]] = {"core": [], "hwt": []}
        self.described: dict[str, dict[int, tuple[int, ...]]] = {}
        self.cpus = 0
        self.words = ""
        self.threads = False  # whether numbers are hardware threads'
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.refuse

    @property
    def line(self) -> int:
        return self.first + self.parser.CurrentLineNumber - 1

    def read(self, text: str) -> MappingReport:
        try:
            self.parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            line = self.first + error.lineno - 1
            raise wrong(line, f"this is not well-formed XML ({what}). {CUT}") from None
        if not self.report.bindings:
            raise wrong(self.first, "the map that begins here has no ranks.")
        self._describe()
        return self.report

    def refuse(self, *_: object) -> None:
        raise wrong(self.line, "Open MPI's map has no document type.")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > 16:
            raise wrong(self.line, "the map's elements are nested too deeply.")
        self.words = ""
        within = self.path[-2:]
        if name == "host":
            self._host(attributes.get("name", ""))
        elif name == "rank":
            self.rank = number(attributes.get("id", ""), self.line, "a rank's id"), self.line
            self.packages, self.places = [], {"core": [], "hwt": []}
        elif within == ["binding", "package"]:
            self.package = number(attributes.get("id", ""), self.line, "a package's id")
        elif within == ["processors", "package"] and self.host:
            package = number(attributes.get("id", ""), self.line, "a package's id")
            cpus = numbers(attributes.get("cpus", ""), self.line, "a package's cpus")
            self.cpus += len(cpus)
            if self.cpus > MOST_UNITS:
                raise wrong(self.line, f"the hosts up to here have more than {MOST_UNITS} processors.")
            self.described[self.host][package] = cpus

    def _host(self, name: str) -> None:
        if not re.fullmatch(HOST, name):
            raise wrong(self.line, f"a host's name is {excerpt(name)}.")
        if name in self.described:
            raise wrong(self.line, f"host {name} is there a second time.")
        self.host = name
        self.described[name] = {}

    def text(self, words: str) -> None:
        if self.path and self.path[-1] in self.places and len(self.words) < 100:
            self.words += words

    def end(self, name: str) -> None:
        self.path.pop()
        if name in self.places and "binding" in self.path:
            self.places[name].append(number(self.words.strip(), self.line, f"a <{name}>"))
            self.packages.append(self.package)
            self.threads |= name == "hwt"
        elif name == "rank":
            self._binding()
        elif name == "host":
            self.host = ""

    def _binding(self) -> None:
        if self.rank is None or not self.host:
            raise wrong(self.line, "a rank stands outside of a host.")
        rank, line = self.rank
        cores, threads = self.places["core"], self.places["hwt"]
        if cores and threads:
            raise wrong(line, f"rank {rank} is bound to cores and to hardware threads; it should be one of them.")
        self.report.bindings.add(
            # The numbers of hardware threads are the operating system's; what those of cores are, the machine decides.
            RankBinding(
                rank, self.host, line, bool(cores or threads), tuple(threads), tuple(cores), (), tuple(self.packages)
            )
        )
        self.rank = None

    def _describe(self) -> None:
        """The machines, from what the map says of their packages: it numbers cores, or hardware threads."""
        report = self.report
        report.precision = (
            "hardware_threads" if self.threads else "cores" if any(s.cores for s in report.bindings) else ""
        )
        if report.precision == "cores":
            report.knows |= {"cores"}
        package_of_place: dict[str, dict[int, int]] = {}  # the package of each place
        for host, packages in self.described.items():
            report.rows[host] = [row(cpu, cpu, package) for package, cpus in packages.items() for cpu in cpus]
            package_of_place[host] = {unit_row["unit"]: unit_row["package"] for unit_row in report.rows[host]}
        for binding in report.bindings:
            for place, package in zip((*binding.cores, *binding.units), binding.packages, strict=True):
                if package_of_place[binding.host].get(place) != package:
                    raise wrong(
                        binding.line, f"rank {binding.rank} is bound to {place}, which package {package} doesn't have."
                    )
