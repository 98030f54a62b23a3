"""Where ranks would run: the MPI's own mapper is asked, also about a machine that isn't there. Nothing is started."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop import registry
from workshop.core import machines, topology
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Host, Placement, default_for
from workshop.mpi import command_lines, mapper
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports import masks
from workshop.mpi.reports.seats import ranges
from workshop.notebook.cards import Piece
from workshop.notebook.display import Shown
from workshop.notebook.request import ALIASES, FIELDS, in_python, placing, unknown
from workshop.report import html, terminal
from workshop.report.cards import code
from workshop.report.figures.machine import WIDTH, machine_picture

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_HOSTS = 256  # of a number of hosts, which get names of their own
MOST_ROWS = 64  # ranks in the table that is shown
COLUMNS = ("rank", "host", "local_rank", "packages", "numa", "cores", "units")
HEADINGS = ("rank", "host", "package", "cores", "units", "may run here: B")


def place(machine: str = "this", **fields: Any) -> PlacementShown:
    """Where the ranks of a placement would run on this machine, or on one that is described (`2x4x2`: two sockets of
    four cores with two hardware threads each; or a file of lstopo's XML).

    Fields are those of a placement. `hosts` may be a number of hosts, which share out the ranks as slots. Without any
    field it is what the machine gets where nobody asks for anything. A placement that the MPI refuses is no error here:
    the answer shows the MPI's own words, and what to change. Raises BadInput for what can't be read.
    """
    known = {ALIASES.get(name, name): value for name, value in fields.items()}
    for name in known:
        if name not in FIELDS:
            raise unknown(name, ("machine", *FIELDS), "a field of a placement")
    described = machines.read(_machine(machine))
    placement = Placement.parse(_read(known)) if known else default_for(described.cores)
    return PlacementShown(placement, described, mapper.predict(placement, described))


def _read(known: dict[str, Any]) -> dict[str, Any]:
    number = known.get("hosts")
    if isinstance(number, int) and not isinstance(number, bool):
        if not 1 <= number <= MOST_HOSTS:
            raise BadInput(
                f"hosts is {number}: it should be a number from 1 to {MOST_HOSTS}, or like 'hostA:2,hostB:2'."
            )
        ranks = Placement.parse(placing({"ranks": known.get("ranks", number)})).ranks
        slots = -(-ranks // number)
        known = {**known, "ranks": ranks, "hosts": [Host(name=_name(at, number), slots=slots) for at in range(number)]}
    read = placing(known)
    if read.get("hosts") and "ranks" not in read:
        read["ranks"] = sum(host.get("slots", 1) for host in read["hosts"])
    return read


def _name(at: int, number: int) -> str:
    return f"host{ascii_uppercase[at]}" if number <= len(ascii_uppercase) else f"host{at + 1}"


def _machine(given: Any) -> str:
    """The given machine: its numbers, or the text of its file. Raises BadInput."""
    text = str(given)
    if not text.endswith(".xml"):
        return text
    try:
        return Path(text).read_text()
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{text[:200]} can't be read ({error}); give what lstopo has exported as XML.") from None


class PlacementShown(Shown):
    """A placement on a machine, with the mapper's answer."""

    def __init__(self, placement: Placement, described: MachineDescription, prediction: Prediction) -> None:
        self.placement = placement
        self.machine = described.name
        self.prediction = prediction
        self._described = described

    @property
    def refused(self) -> str | None:
        """Why the MPI refuses the placement; None where it takes it."""
        return self.prediction.refused

    @property
    def advice(self) -> str | None:
        """What to change where it is refused, as names and values."""
        return in_python(self.prediction.advice) if self.prediction.advice else None

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """The place of each rank: host, packages, NUMA nodes, cores, units. Empty where the MPI refuses."""
        return list((self.prediction.rank_map or {}).get("ranks") or [])

    @cached_property
    def commands(self) -> dict[str, str]:
        """The lines that ask for the same, by launcher: those of all MPIs, horovodrun, sbatch."""
        return command_lines.commands(self.placement, self._described)

    @property
    def table(self) -> DataFrame:
        from pandas import DataFrame

        return DataFrame([{name: report.get(name) for name in COLUMNS} for report in self.ranks], columns=list(COLUMNS))

    @property
    def figure(self) -> go.Figure:
        """The machine with the ranks on it. Raises BadInput where nothing is predicted."""
        if self.prediction.rank_map is None:
            raise BadInput(self.refused or self.prediction.note or "Nothing is predicted, so there is nothing to draw.")
        drawn = machine_picture(self.prediction.machine, self.prediction.rank_map, self.placement.threads_per_rank)
        return drawn.update_layout(autosize=True, meta={"width": WIDTH})

    def words(self) -> str:
        parts = [self._title, *self._said]
        if self.ranks:
            parts += [terminal.columns(HEADINGS, self._rows), *self._rest]
        return "\n".join([*parts, self._command])

    def pieces(self) -> Iterable[Piece]:
        tone = "alarm" if self.refused else "about"
        lines = "".join(html.line(said, tone=tone if number == 0 else "") for number, said in enumerate(self._said))
        yield html.box(html.line(self._title) + lines, "bad" if self.refused else "")
        if self.prediction.rank_map is not None:
            yield self.figure
            yield html.table(HEADINGS, self._rows) + "".join(map(html.line, self._rest))
        yield from html.pieces([code(self._command)])

    @property
    def _title(self) -> str:
        return f"{self.placement.describe()}, predicted for {self.machine}"

    @property
    def _said(self) -> list[str]:
        found = self.prediction
        mpi = registry.mpi(self.placement.mpi).title
        said = [f"{mpi} refuses this placement: {found.refused}"] if found.refused else []
        said += [f"What to change: {self.advice}"] if found.advice else []
        return said + ([found.note] if found.note else [])

    @property
    def _rows(self) -> list[list[str]]:
        shown = self.ranks[:MOST_ROWS]
        return [
            [
                str(one["rank"]),
                one["host"],
                *(ranges(one[name]) for name in ("packages", "cores", "units")),
                masks.mask(one, self.prediction.machine or topology.machine()),
            ]
            for one in shown
        ]

    @property
    def _rest(self) -> list[str]:
        left = len(self.ranks) - MOST_ROWS
        return [f"and {left} more ranks, which `.table` has"] if left > 0 else []

    @property
    def _command(self) -> str:
        return command_lines.folded(self.commands.get(self.placement.mpi, "").rstrip("\n"), 100)
