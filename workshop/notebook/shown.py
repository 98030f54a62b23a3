"""A run and a rank map as a notebook has them: what was told, and how they show themselves."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.notebook import display
from workshop.notebook.display import CardsDisplay, Piece, ResultDisplay
from workshop.notebook.request import dashboard, in_python
from workshop.registry import workload_title
from workshop.report import html
from workshop.report.activity import duration
from workshop.report.analysis.threads import threads_of
from workshop.report.cards import Card
from workshop.report.endings import failure_words
from workshop.report.machine_picture import machine_card
from workshop.report.panels import panels
from workshop.report.panels.run_metrics import curve_names
from workshop.report.run_sections import UNREADABLE
from workshop.report.sentences import LONGEST_VALUE, metrics_of, who
from workshop.report.snapshot import Snapshot
from workshop.sessions import client
from workshop.store.records import RunRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


class ShownVerdict(dict[str, str]):
    """The verdict on a run or a study in plain words: `verdict`, `why`, `next`."""

    def __init__(self, verdict: Mapping[str, str]) -> None:
        super().__init__({name: in_python(text) for name, text in verdict.items()})

    def __str__(self) -> str:
        return "\n".join(f"{name.capitalize()}: {text}" for name, text in self.items() if text)

    __repr__ = __str__

    def lines(self) -> list[str]:
        """The verdict as HTML, line by line."""
        rest = (html.line(self[name], name.capitalize()) for name in ("why", "next") if self.get(name))
        return [html.line(self.get("verdict", ""), tone="heading"), *rest]

    def _repr_html_(self) -> str:
        return html.alone(html.box("".join(self.lines())))


class RunMetrics(dict[str, Any]):
    """The metrics of a run, by name. An unknown name raises an error of one sentence."""

    def __init__(self, run: RunRecord) -> None:
        super().__init__(run.metrics)
        self._run = run

    def __missing__(self, name: str) -> Any:
        if not self:
            why = f": {error_of(self._run)}" if self._run.error else "."
            raise BadInput(f"Run {self._run.id} is {self._run.status} and has no metrics{why}")
        raise BadInput(f"Run {self._run.id} ({self._run.workload}) has no metric {name!r}; {words.nearest(name, self)}")


class Files(Mapping[str, bytes]):
    """The files that a run has kept, read when one asks for them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, name: str) -> bytes:
        return self._snapshot.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.artifacts)

    def __len__(self) -> int:
        return len(self._snapshot.artifacts)

    def __repr__(self) -> str:
        files = [f"{artifact.name} ({words.size(artifact.size)})" for artifact in self._snapshot.artifacts.values()]
        return ", ".join(files) or "no files"


def error_of(run: RunRecord) -> str:
    """A run's error in one line; empty where it has none."""
    return failure_words(run).partition("\n")[0]


LIMIT = 200_000  # events in a table unless somebody asks for more
FEW = 8  # metrics that a run shows by itself
SHOWN_ELSEWHERE = frozenset(("machine", "predicted"))  # panels that `rank_map` and `workshop.place` show
LOOKS = {"completed": "good", "failed": "bad", "interrupted": "bad", "cancelled": "nearly"}

log = logging.getLogger(__name__)


class RunShown(ResultDisplay):
    """A run that has ended, or one that is looked at while it goes on."""

    def __init__(self, store: Store, record: RunRecord) -> None:
        self.store = store
        self._record = record
        self._last: Snapshot | None = None

    @property
    def record(self) -> RunRecord:
        """The run's present record."""
        if not self._record.ended:
            self._record = client.read(self.store, self._record.id)
        return self._record

    @property
    def id(self) -> int:
        return self._record.id

    run_number = id  # by which a run stands for its number where one is asked for, see `asking`

    @property
    def status(self) -> str:
        return self.record.status

    @property
    def params(self) -> dict[str, Any]:
        return self.record.params

    @property
    def placement(self) -> dict[str, Any]:
        return self.record.placement

    @property
    def metrics(self) -> RunMetrics:
        return RunMetrics(self.record)

    @property
    def verdict(self) -> ShownVerdict | None:
        """None while the run goes on."""
        return ShownVerdict(self.record.verdict) if self.record.verdict else None

    @property
    def error(self) -> str | None:
        """The error in one sentence; None without an error."""
        return error_of(self.record) or None

    @property
    def artifacts(self) -> Files:
        """The files that it has kept: `run.artifacts["quantised.png"]` are its bytes."""
        return Files(self._snapshot)

    def events(self, name: str | None = None, rank: int | None = None, limit: int | None = LIMIT) -> pd.DataFrame:
        """The events of ranks: rank, name, step, time (seconds since the run's first event) and value, in the order of
        arrival; at most the first `limit` ones, with a note where there are more (None: all). Raises BadInput for an
        unknown name."""
        import pandas as pd  # takes a second

        if name is not None and name not in (event_names := self.store.event_names(self.id)):
            raise BadInput(f"Run {self.id} told no events {name!r}; {words.nearest(name, event_names)}")
        total = self.store.last_event_id(self.id)
        events = self.store.events(self.id, None if name is None else [name], rank, limit=(limit or total) + 1)
        if limit is not None and len(events) > limit:
            events.pop()
            first = f"The first {words.quantity(limit)} events; the run told {words.quantity(total)} in all."
            print(f"{first} Ask by name or rank for fewer, or with limit=None for all.", file=sys.stderr)
        columns = ("rank", "name", "step", "time", "value")
        rows = [[getattr(event, column) for column in columns] for event in events]
        table = pd.DataFrame(rows, columns=columns).astype({"step": "Int64"})
        table["time"] -= self._snapshot.began or 0.0
        return table

    @property
    def name(self) -> str:
        return f"Run {self.id}"

    def rank_map(self) -> RankMapShown:
        """Where its ranks ran, as they reported themselves: figure and table."""
        run = self.record
        return RankMapShown(f"Run {run.id}", run.machine, run.rank_map, threads_of(run))

    def words(self) -> str:
        run = self.record
        lines = [f"{title(run)}: {ended(run)}"]
        if self.error:
            lines.append(f"Error: {self.error}")
        if self.verdict:
            lines.append(str(self.verdict))
        if metrics := self._main():
            lines.append("; ".join(f"{metric['label']} {metric['value']}" for metric in metrics))
        lines += run.notices
        if self.address:
            lines.append(self.address)
        return "\n".join(lines)

    @property
    def address(self) -> str | None:
        return dashboard(f"/run?run={self.id}")

    def head(self) -> str:
        run = self.record
        lines = [self.title_line(f"{title(run)}: {ended(run)}"), *(self.verdict.lines() if self.verdict else ())]
        if self.error:
            lines.insert(2, html.line(self.error, "Error", "alarm"))
        if metrics := self._main():
            lines.append(html.tiles(metrics))
        lines += [html.line(notice, "Notice", "alarm") for notice in run.notices]
        return html.box("".join(lines), LOOKS.get(run.status, ""))

    def preview(self) -> Iterable[Piece]:
        """The run's pictures and its first figure."""
        snapshot = self._snapshot
        panels_shown = (panel for panel in snapshot.own_panels if panel.section == "result" and panel.comparison)
        for card in (card for panel in panels_shown for card in _panel_cards(panel.show, snapshot)):
            if pictures := tuple(part for part in card.parts if part["kind"] == "pictures"):
                yield from display.pieces([replace(card, parts=pictures)], snapshot)
        yield from super().preview()

    def _main(self) -> list[dict[str, str]]:
        """A few metrics, the most important ones."""
        return [metric for metric in metrics_of(self.record) if len(metric["value"]) <= LONGEST_VALUE][:FEW]

    @property
    def _snapshot(self) -> Snapshot:
        """As it is now; of a run that has ended always the same."""
        if self._last is None or not self._last.run.ended:
            self._last = Snapshot(self.store, self.record)
        return self._last

    @property
    def figures_by_name(self) -> Mapping[str, go.Figure]:
        return figures_of(self._snapshot)


@lru_cache(maxsize=4)
def figures_of(snapshot: Snapshot) -> dict[str, go.Figure]:
    """All figures of a run's page by the names of their cards: ways of learning and curves first, which say most, but
    curves of a single point last."""
    all_figures = display.figures(
        card
        for panel in panels(snapshot)
        if panel.name not in SHOWN_ELSEWHERE
        for card in _panel_cards(panel.show, snapshot)
    )
    first = ["ways", *curve_names(snapshot.workload, snapshot.totals)]
    names = [name for name in dict.fromkeys([*first, *all_figures]) if name in all_figures]

    def is_point(name: str) -> bool:
        traces = all_figures[name].data
        return all(trace.type == "scatter" and trace.y is not None and len(trace.y) == 1 for trace in traces)

    return {name: all_figures[name] for name in sorted(names, key=is_point)}


def title(run: RunRecord) -> str:
    whose = f", {who(run)}'s" if run.submitted_by else ""
    return f"Run {run.id}{whose}: {workload_title(run.workload)} on {Placement.parse(run.placement).describe()}"


def ended(run: RunRecord) -> str:
    """The state in words: completed in 3.2 s."""
    took = duration(run)
    return run.status if took is None else f"{run.status} after {words.seconds(took)}"


def _panel_cards(panel: Any, snapshot: Snapshot) -> list[Card]:
    """A panel's cards; none, and a note in the log, where it can't read what a workload left."""
    try:
        return list(panel(snapshot))
    except UNREADABLE:
        log.warning("a panel of run %s could not be made", snapshot.run.id, exc_info=True)
        return []


COLUMNS = ("rank", "host", "local_rank", "pid", "units", "cores", "packages", "numa")


class RankMapShown(CardsDisplay):
    """A measured rank map: each rank has reported itself. Raises BadInput where there is none."""

    def __init__(
        self, whose: str, machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None, threads: int
    ) -> None:
        if not (rank_map or {}).get("ranks"):
            raise BadInput(f"{whose} has no rank map: none of its ranks has reported itself.")
        self.ranks: list[dict[str, Any]] = [dict(report) for report in (rank_map or {})["ranks"]]
        self._cards = machine_card("", machine, rank_map, threads)

    @property
    def figure(self) -> go.Figure:
        return go.Figure(display.figures(self._cards)["machine"])

    @property
    def table(self) -> pd.DataFrame:
        """A row for each rank: host, process, and the units, cores, packages and NUMA nodes that it may use."""
        import pandas as pd  # takes a second

        return pd.DataFrame(self.ranks, columns=list(COLUMNS))

    def cards(self) -> list[Card]:
        return self._cards
