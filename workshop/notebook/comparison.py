"""Runs side by side: different settings, results, and their curves in one plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core.errors import BadInput
from workshop.notebook import cards, store_access
from workshop.notebook.cards import Piece
from workshop.notebook.display import Shown
from workshop.notebook.results import ShownVerdict
from workshop.notebook.shown import RunShown, ended
from workshop.report import comparison, html, terminal
from workshop.report.comparison import Row
from workshop.report.snapshot import Snapshot
from workshop.runtime import client
from workshop.store.records import RunRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

MOST = 8  # runs: as many colours as can be told apart


def compare(*runs: RunShown | int | str) -> ComparisonShown:
    """Compare two to eight runs, each a run of this notebook or a number. Raises BadInput for other values."""
    given = list(runs[0]) if len(runs) == 1 and isinstance(runs[0], list | tuple) else list(runs)
    if not 2 <= len(given) <= MOST:
        raise BadInput(f"compare takes 2 to {MOST} runs, such as workshop.compare(one, two); {len(given)} were given.")
    store = next((run.store for run in given if isinstance(run, RunShown)), None) or store_access.store()
    return ComparisonShown(store, [_record(store, run) for run in given])


def _record(store: Store, run: Any) -> RunRecord:
    if isinstance(run, RunShown):
        return run.record
    if isinstance(run, str) and run.isascii() and run.isdecimal():
        run = int(run[:10])
    if not isinstance(run, int) or isinstance(run, bool):
        raise BadInput(f"{run!r:.60} is no run; compare takes what session.run gave, or the number of a run.")
    return client.read(store, run)


class ComparisonShown(Shown):
    def __init__(self, store: Store, runs: Sequence[RunRecord]) -> None:
        self._store = store
        self.runs = tuple(runs)

    @cached_property
    def settings(self) -> list[Row]:
        """Params and fields of the placement that aren't the same in all."""
        return comparison.settings(self.runs)

    @property
    def results(self) -> list[Row]:
        """What the runs came to, as words, those first in which they differ."""
        return [row for rows in self._results for row in rows]

    @cached_property
    def _results(self) -> tuple[list[Row], list[Row]]:
        return comparison.results(self.runs)

    @property
    def table(self) -> DataFrame:
        """Settings that differ, and all metrics; a column for each run."""
        from pandas import DataFrame

        rows = [*self.settings, *self.results]
        return DataFrame([row[1:] for row in rows], [row[0] for row in rows], self._labels)

    @property
    def figures(self) -> list[str]:
        """The names that `figure` takes: the curves that the runs have told."""
        return comparison.curves(Snapshot(self._store, run) for run in self.runs)

    def figure(self, name: str | None = None) -> go.Figure:
        """A curve of all runs in one plot; without a name the most important one. Raises BadInput."""
        known = self.figures
        chosen = name if name is not None else next(iter(known), None)
        if chosen is None or chosen not in known:
            what = "have told no curves" if not known else f"have no curve {chosen!r}; there are {', '.join(known)}"
            raise BadInput(f"These runs {what}.")
        return self._curve(chosen)

    def words(self) -> str:
        heads = ["", *self._labels]
        parts = [terminal.columns(heads, self._facts)]
        parts.append(terminal.columns(heads, self.settings) if self.settings else NOTHING)
        if self.results:
            parts.append(terminal.columns(heads, self.results))
        return "\n\n".join(parts)

    def pieces(self) -> Iterable[Piece]:
        heads = ["", *self._labels]
        different, same = self._results
        yield html.table(heads, self._facts)
        yield html.line("Set differently", tone="label")
        yield html.table(heads, self.settings) if self.settings else html.line(NOTHING)
        if different:
            yield html.line("What came out", tone="label")
            yield html.table(heads, different)
        if same:
            yield html.fold(f"The same in all: {len(same)}", html.table(heads, same))
        if names := self.figures:
            yield self._curve(names[0])

    @property
    def _labels(self) -> list[str]:
        """A name for each run, its own also where one is given twice."""
        numbers = [run.id for run in self.runs]
        twice = len(set(numbers)) < len(numbers)
        return [f"run {run}{f' ({place})' if twice else ''}" for place, run in enumerate(numbers, 1)]

    @property
    def _facts(self) -> list[Row]:
        said = [ShownVerdict(run.verdict or {}).get("verdict", "–") for run in self.runs]
        return [("status", *map(ended, self.runs)), ("verdict", *said)]

    def _curve(self, name: str) -> go.Figure:
        snapshots = dict(zip(self._labels, (Snapshot(self._store, run) for run in self.runs), strict=True))
        drawn = comparison.curve(snapshots, name).update_layout(yaxis_title_text=name)
        return cards.titled(drawn, name[:1].upper() + name[1:])


NOTHING = "Nothing was set differently: whatever differs is chance, or the machine."
