"""Cells and functions on this notebook's own ranks, which the first cell starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipyparallel as ipp

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.engine import cells as rank_side
from workshop.notebook.call_monitor import (
    DEAF,
    CallMonitor,
    CallResult,
    CellError,
    RankResult,
    Stop,
    describe_end,
    errors,
)
from workshop.notebook.output import Output
from workshop.notebook.own_ranks import OwnRanks, RanksFailed, placement

if TYPE_CHECKING:
    from ipyparallel import DirectView

    from workshop.notebook.session import Session
    from workshop.store.records import SessionRecord
    from workshop.store.store import Store

__all__ = ["SECONDS", "CellError", "Cells", "RankResult", "RanksFailed", "cells", "errors"]

SECONDS = 300.0  # that a cell may take where nobody says otherwise
BOUND = 15.0  # seconds within which names are bound on ranks
LONGEST = 24 * 3600.0
_cells: Cells | None = None  # of the one session that this kernel is attached to


def cells(session: Session) -> Cells:
    """The kernel's one `Cells`. Attaching to another session ends the ranks that were for the first one."""
    global _cells
    record = session.record
    if _cells is None or _cells.session_id != record.id:
        if _cells is not None:
            _cells.close()
        _cells = Cells(session.store, record)
    return _cells


def checked(seconds: float) -> float:
    """A time limit. Raises BadInput."""
    if not 0 < seconds <= LONGEST:
        raise BadInput(f"seconds is {seconds:g}: it should be more than 0 and at most {LONGEST:.0f}, which is a day.")
    return seconds


class Cells:
    """Runs cells and functions on all ranks."""

    def __init__(self, store: Store, session: SessionRecord) -> None:
        self.session_id = session.id
        self._ranks = OwnRanks(store, placement(Placement.parse(session.placement)))

    def run(self, code: str, seconds: float = SECONDS) -> list[RankResult]:
        """Run a cell on all ranks and show what they print; returns how it ended on each, in rank order.

        `seconds` is the longest that it may take. Raises RanksFailed where ranks had to be stopped or replaced,
        WorkshopError where there are none.
        """
        watched, lines = self._do(rank_side.run, (code, os.getcwd()), seconds)
        if lines and watched.why:
            raise RanksFailed("\n".join(lines))
        return watched.results

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
        """Call a function that can be imported on all ranks, as `function(namespace, *arguments)`, where `namespace`
        has the names that cells have left. Returns its values in rank order. Raises RanksFailed where it raised
        anywhere, or did not end within `seconds`."""
        if "<" in function.__qualname__ or "." in function.__qualname__ or function.__module__ == "__main__":
            raise BadInput(f"{function.__qualname__} can't be imported on the ranks; write it in a module, outermost.")
        where = (function.__module__, function.__qualname__, arguments)
        watched, lines = self._do(rank_side.call, where, seconds)
        if lines:
            raise RanksFailed("\n".join(lines))
        return [result.value for result in watched.results]

    def view(self, output: Output, stop: Callable[[], bool]) -> DirectView:
        """ipyparallel's view on this notebook's own ranks, in rank order; `rank`, `size` and `comm` are bound there."""
        ranks = self._ranks.ready(output, stop)
        if self._ranks.bound is not ranks or self._ranks.anew:  # else they may be busy with what nobody waits for
            try:
                ranks.view.apply_async(rank_side.bind, os.getcwd(), self._ranks.anew).get(BOUND)
            except (TimeoutError, ipp.error.IPythonError) as error:
                raise WorkshopError(
                    f"The ranks don't answer ({type(error).__name__}); wait for what they do, then run the cell again."
                ) from None
            self._ranks.bound, self._ranks.anew = ranks, False
        return ranks.view

    def interrupt(self) -> list[str]:
        """Interrupt this notebook's own ranks, and replace them where one doesn't react. Returns a sentence on it."""
        ranks = self._ranks.line
        if ranks is None:
            return []
        self._ranks.anew = True
        output, client = Output(), ranks.client
        with Stop():
            try:
                ranks.interrupt(ranks.ids)
                deadline = time.monotonic() + DEAF
                while client.outstanding and ranks.alive and time.monotonic() < deadline:
                    time.sleep(0.05)
                if client.outstanding or not ranks.alive:
                    return self._ranks.replace(not ranks.alive, output)
                return ["The ranks keep their names."]
            finally:
                output.finish()

    def close(self) -> None:
        """End this notebook's own ranks."""
        self._ranks.close()

    def _do(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float
    ) -> tuple[CallResult, list[str]]:
        """Call a function of `engine.cells` on all ranks. Returns its results and a sentence on them."""
        checked(seconds)
        output = Output()
        with Stop() as stop:
            try:
                ranks = self._ranks.ready(output, stop)
                output.begin(ranks.size)
                views = map(ranks.client.direct_view, ranks.ids)
                calls = [view.apply_async(function, *arguments, self._ranks.anew) for view in views]
                self._ranks.bound, self._ranks.anew = ranks, False
                watched = CallMonitor(ranks, calls, output, seconds, self._ranks.check).until_ended(stop)
                output.status = ""
                lines = describe_end(watched, ranks.size, seconds)
                if watched.deaf or watched.why == "died":
                    lines += self._ranks.replace(watched.why == "died", output)
                elif lines:
                    self._ranks.anew = True
                    if watched.why:
                        lines.append("The ranks keep their names.")
                return watched, lines
            finally:
                output.finish()
