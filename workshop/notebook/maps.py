"""Where ranks run, as a notebook shows it: the machine with its ranks, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core.errors import BadInput
from workshop.notebook import cards
from workshop.notebook.cards import Piece
from workshop.notebook.display import Shown
from workshop.report import terminal
from workshop.report.machine_picture import machine_card

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("rank", "host", "local_rank", "pid", "units", "cores", "packages", "numa")


class RankMapShown(Shown):
    """A measured rank map: each rank has reported itself. Raises BadInput where there is none."""

    def __init__(
        self,
        whose: str,
        machine: Mapping[str, Any] | None,
        rank_map: Mapping[str, Any] | None,
        threads: int,
    ) -> None:
        if not (rank_map or {}).get("ranks"):
            raise BadInput(f"{whose} has no rank map: none of its ranks has reported itself.")
        self.ranks: list[dict[str, Any]] = [dict(report) for report in (rank_map or {})["ranks"]]
        self._cards = machine_card("", machine, rank_map, threads)

    @property
    def figure(self) -> go.Figure:
        return go.Figure(cards.figures(self._cards)["machine"])

    @property
    def table(self) -> DataFrame:
        """A row for each rank: host, process, and the units, cores, packages and NUMA nodes that it may use."""
        from pandas import DataFrame

        return DataFrame([{name: report.get(name) for name in COLUMNS} for report in self.ranks])

    def words(self) -> str:
        return terminal.said(self._cards)

    def pieces(self) -> Iterable[Piece]:
        yield from cards.pieces(self._cards)
