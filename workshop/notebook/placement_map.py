"""Where ranks would run: the MPI's own mapper is asked, also about a machine that isn't there. Nothing is started."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Host, Placement, default_for
from workshop.mpi import command_lines, mapper
from workshop.mpi.mapper import Prediction
from workshop.notebook.display import CardsDisplay
from workshop.notebook.request import ALIASES, FIELDS, in_python, placing, unknown
from workshop.report.cards import Card, figure
from workshop.report.figures.machine import WIDTH, machine_picture
from workshop.report.machine_picture import placement_cards

if TYPE_CHECKING:
    import pandas as pd

MOST_HOSTS = 256  # of a number of hosts, which get names of their own
COLUMNS = ("rank", "host", "local_rank", "packages", "numa", "cores", "units")


def place(machine: str | Path = "this", **fields: Any) -> PlacementShown:
    """Where the ranks of a placement would run on this machine, or on one that is described (`2x4x2`: two sockets of
    four cores with two hardware threads each; or a file of lstopo's XML).

    Fields are those of a placement. `hosts` may be a number of hosts, which share out the ranks as slots. Without any
    field it is what the machine gets where nobody asks for anything. A placement that the MPI refuses is no error here:
    the answer shows the MPI's own words, and what to change. Raises BadInput for what can't be read.
    """
    named_fields = {ALIASES.get(name, name): value for name, value in fields.items()}
    for name in named_fields:
        if name not in FIELDS:
            raise unknown(name, ("machine", *FIELDS), "a field of a placement")
    if str(machine).endswith(".xml"):
        try:
            machine = Path(machine).read_text()
        except (OSError, UnicodeError) as error:
            raise BadInput(f"{machine} can't be read ({error}); give what lstopo has exported as XML.") from None
    described = machines.read(str(machine))
    placement = Placement.parse(_read(named_fields)) if named_fields else default_for(described.cores)
    return PlacementShown(placement, described, mapper.predict(placement, described))


def _read(named_fields: dict[str, Any]) -> dict[str, Any]:
    number = named_fields.get("hosts")
    if isinstance(number, int) and not isinstance(number, bool):
        if not 1 <= number <= MOST_HOSTS:
            like = f"a number from 1 to {MOST_HOSTS}, or like 'hostA:2,hostB:2'"
            raise BadInput(f"hosts is {number}: it should be {like}.")
        ranks = Placement.parse(placing({"ranks": named_fields.get("ranks", number)})).ranks
        names = ascii_uppercase[:number] if number <= len(ascii_uppercase) else range(1, number + 1)
        hosts = [Host(name=f"host{name}", slots=-(-ranks // number)) for name in names]
        named_fields = {**named_fields, "ranks": ranks, "hosts": hosts}
    read = placing(named_fields)
    if read.get("hosts") and "ranks" not in read:
        read["ranks"] = sum(host.get("slots", 1) for host in read["hosts"])
    return read


class PlacementShown(CardsDisplay):
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
        """The changes that the mapper accepts where it refuses this placement, as names and values."""
        return in_python(self.prediction.advice) if self.prediction.advice else None

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """The place of each rank: host, packages, NUMA nodes, cores, units. Empty where the MPI refuses."""
        return list((self.prediction.rank_map or {}).get("ranks") or [])

    @cached_property
    def commands(self) -> dict[str, str]:
        """The command lines for the same placement, by launcher: all MPIs, horovodrun, sbatch."""
        return command_lines.commands(self.placement, self._described, self.prediction)

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd  # takes a second

        return pd.DataFrame(self.ranks, columns=list(COLUMNS))

    @property
    def figure(self) -> go.Figure:
        """The machine with the ranks on it. Raises BadInput where nothing is predicted."""
        if self.prediction.rank_map is None:
            raise BadInput(self.refused or self.prediction.note or "Nothing is predicted, so there is nothing to draw.")
        plot = machine_picture(self.prediction.machine, self.prediction.rank_map, self.placement.threads_per_rank)
        return plot.update_layout(autosize=True, meta={"width": WIDTH})

    def cards(self) -> list[Card]:
        command = {"": self.commands.get(self.placement.mpi, "").rstrip("\n")}
        prediction = replace(self.prediction, advice=self.advice)
        all_cards = placement_cards(self.placement, self.machine, prediction, command, rest="`.table` has all of them")
        if prediction.rank_map is not None:
            all_cards.insert(1, Card("machine", "", (figure(self.figure),)))
        return all_cards
