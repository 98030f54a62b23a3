"""Runs side by side: different settings, results, and their curves in one plot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.notebook import display
from workshop.notebook.display import CardsDisplay, FiguresDisplay
from workshop.notebook.session import notebook_store
from workshop.notebook.shown import RunShown, ShownVerdict, ended
from workshop.report import comparison, terminal
from workshop.report.cards import Card, figure, fold, line, paragraph, table
from workshop.report.comparison import Row
from workshop.report.snapshot import Snapshot
from workshop.sessions import client
from workshop.store.records import RunRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

MOST = 8  # runs: as many colours as can be told apart


def compare(*runs: RunShown | int) -> ComparisonShown:
    """Compare two to eight runs, each a run of this notebook or a number. Raises BadInput for other values."""
    arguments = list(runs[0]) if len(runs) == 1 and isinstance(runs[0], list | tuple) else list(runs)
    if not 2 <= len(arguments) <= MOST:
        raise BadInput(
            f"compare takes 2 to {MOST} runs, such as workshop.compare(one, two); {len(arguments)} were given."
        )
    store = next((run.store for run in arguments if isinstance(run, RunShown)), None) or notebook_store()
    return ComparisonShown(store, [_record(store, run) for run in arguments])


def _record(store: Store, run: Any) -> RunRecord:
    if isinstance(run, RunShown):
        return run.record
    if not isinstance(run, int) or isinstance(run, bool):
        raise BadInput(f"{run!r:.60} is no run; compare takes what session.run gave, or the number of a run.")
    return client.read(store, run)


class ComparisonShown(CardsDisplay, FiguresDisplay):
    def __init__(self, store: Store, runs: Sequence[RunRecord]) -> None:
        self._store = store
        self.runs = tuple(runs)

    @cached_property
    def settings(self) -> list[Row]:
        """Params and fields of the placement that aren't the same in all."""
        return comparison.settings(self.runs)

    @property
    def results(self) -> list[Row]:
        """The results of the runs in words; the results that differ come first."""
        return [*self._results[0], *self._results[1]]

    @cached_property
    def _results(self) -> tuple[list[Row], list[Row]]:
        return comparison.results(self.runs)

    @property
    def table(self) -> pd.DataFrame:
        """Settings that differ, and all metrics; a column for each run."""
        import pandas as pd  # takes a second

        rows = [*self.settings, *self.results]
        return pd.DataFrame([row[1:] for row in rows], [row[0] for row in rows], self._labels)

    @property
    def name(self) -> str:
        return "The comparison"

    @property
    def figures_by_name(self) -> dict[str, go.Figure]:
        """The curves that the runs have told, all runs in one plot each."""
        snapshots = dict(zip(self._labels, (Snapshot(self._store, run) for run in self.runs), strict=True))
        plots = {name: comparison.curve(snapshots, name) for name in comparison.curves(snapshots.values())}
        return {
            name: display.titled(plot.update_layout(yaxis_title_text=name), words.capital(name))
            for name, plot in plots.items()
        }

    def cards(self) -> list[Card]:
        heads = ["", *self._labels]
        different, same = self._results
        all_cards = [
            Card("facts", "", (table(heads, self._facts),)),
            Card(
                "set", "Set differently", (table(heads, self.settings) if self.settings else paragraph(line(NOTHING)),)
            ),
        ]
        if different:
            all_cards.append(Card("results", "What came out", (table(heads, different),)))
        if same:
            title = f"The same in all: {len(same)}"
            all_cards.append(Card("same", "", (fold(title, terminal.columns(heads, same)),)))
        return [*all_cards, Card("curve", "", tuple(map(figure, [*self.figures_by_name.values()][:1])))]

    @property
    def _labels(self) -> list[str]:
        """A name for each run, its own also where one is given twice."""
        numbers = [run.id for run in self.runs]
        twice = len(set(numbers)) < len(numbers)
        return [f"run {run}{f' ({place})' if twice else ''}" for place, run in enumerate(numbers, 1)]

    @property
    def _facts(self) -> list[Row]:
        verdicts = [ShownVerdict(run.verdict or {}).get("verdict", "–") for run in self.runs]
        return [("status", *map(ended, self.runs)), ("verdict", *verdicts)]


NOTHING = "Nothing was set differently: whatever differs is chance, or the machine."
