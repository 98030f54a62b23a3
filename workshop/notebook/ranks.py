"""The ranks of this notebook's cells: its own, started by the first cell, or for an instructor the shared session's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import ipyparallel as ipp

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.words import capital, count
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
from workshop.notebook.lease_holder import GONE, LATER, LeaseHolder, RanksFailed, RanksHolding
from workshop.notebook.output import Output
from workshop.runtime.engine_client import Ranks

if TYPE_CHECKING:
    from ipyparallel import DirectView

    from workshop.notebook.session import Session

__all__ = ["SECONDS", "CellError", "Cells", "LeasedRanks", "RankResult", "RanksFailed", "cells", "lease", "release"]

SECONDS = 300.0  # that a cell may take where nobody says otherwise
BOUND = 15.0  # seconds within which names are bound on ranks
LONGEST = 24 * 3600.0
_cells_by_session: dict[int, Cells] = {}  # of the one session that this kernel is attached to


def cells(session: Session) -> Cells:
    """The kernel's one `Cells`. Attaching to another session ends the ranks that were for the first one."""
    cells_of_session = _cells_by_session.get(session.record.id)
    if cells_of_session is None:
        for other in list(_cells_by_session.values()):
            other.close()
        _cells_by_session.clear()
        cells_of_session = _cells_by_session[session.record.id] = Cells(session)
    return cells_of_session


def lease(session: Session) -> LeasedRanks:
    """Hold the shared session's ranks; a `with` block gives them back."""
    return cells(session).lease()


def release(session: Session) -> None:
    """Give shared ranks back, if this notebook has them; its own ranks stay."""
    if (cells_of_session := _cells_by_session.get(session.record.id)) is not None:
        cells_of_session.release()


def checked(seconds: float) -> float:
    """A time limit. Raises BadInput."""
    if not 0 < seconds <= LONGEST:
        raise BadInput(f"seconds is {seconds:g}: it should be more than 0 and at most {LONGEST:.0f}, which is a day.")
    return seconds


class Cells:
    """Runs cells and functions on all ranks."""

    def __init__(self, session: Session) -> None:
        self._holding = LeaseHolder(session)

    def run(self, code: str, seconds: float = SECONDS, show: bool = True, *, shared: bool = False) -> list[RankResult]:
        """Run a cell on all ranks and show what they print; returns how it ended on each, in rank order.

        `seconds` is the longest that it may take. Raises RanksFailed where ranks had to be stopped or replaced,
        WorkshopError where there are none.
        """
        watched, lines = self._do(rank_side.run, (code, os.getcwd()), seconds, show, shared)
        if lines and watched.why:
            raise RanksFailed("\n".join(lines))
        return watched.results

    def call(
        self, function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS, shared: bool = False
    ) -> Any:
        """Call a function that can be imported on all ranks, as `function(namespace, *arguments)`, where `namespace`
        has the names that cells have left. Returns its values in rank order. Raises RanksFailed where it raised
        anywhere, or did not end within `seconds`."""
        if "<" in function.__qualname__ or "." in function.__qualname__ or function.__module__ == "__main__":
            raise BadInput(f"{function.__qualname__} can't be imported on the ranks; write it in a module, outermost.")
        where = (function.__module__, function.__qualname__, arguments)
        watched, lines = self._do(rank_side.call, where, seconds, True, shared)
        if lines:
            raise RanksFailed("\n".join(lines))
        return [result.value for result in watched.results]

    def view(self, output: Output, stop: Callable[[], bool]) -> DirectView:
        """ipyparallel's view on this notebook's own ranks, in rank order; `rank`, `size` and `comm` are bound there."""
        holding, ranks = self._holding.ranks(output, False, stop)
        if (
            holding.bound is not ranks or holding.anew
        ):  # otherwise not: they may still be busy with what nobody waits for
            try:
                ranks.view.apply_async(rank_side.bind, os.getcwd(), holding.anew).get(BOUND)
            except (TimeoutError, ipp.error.IPythonError) as error:
                raise WorkshopError(
                    f"The ranks don't answer ({type(error).__name__}); wait for what they do, then run the cell again."
                ) from None
            holding.bound, holding.anew = ranks, False
        return ranks.view

    def interrupt(self) -> list[str]:
        """Interrupt this notebook's own ranks, and replace them where one doesn't react. Returns a sentence on it."""
        holding = self._holding.mine
        if holding is None or holding.ranks is None:
            return []
        holding.anew = True
        output, client = Output(), holding.ranks.client
        with Stop():
            try:
                holding.ranks.interrupt(holding.ranks.ids)
                deadline = time.monotonic() + DEAF
                while client.outstanding and holding.ranks.alive and time.monotonic() < deadline:
                    time.sleep(0.05)
                if client.outstanding or not holding.ranks.alive:
                    return self._replaced(holding, not holding.ranks.alive, output)
                return ["The ranks keep their names."]
            finally:
                output.finish()

    def lease(self) -> LeasedRanks:
        """Take the ranks of the session that everybody shares, and keep them until `release`. Raises BadInput for a
        learner, WorkshopError where they aren't free."""
        output = Output()
        with Stop() as stop:
            try:
                self._holding.lend(output, stop)
                output.note(
                    f"This notebook has the ranks of session {self._holding.shared_name} until session.release()."
                )
            finally:
                output.finish()
        return LeasedRanks(self)

    def release(self) -> None:
        """Give shared ranks back, if we have them."""
        self._holding.release()

    def close(self) -> None:
        """End this notebook's own ranks, and give shared ones back."""
        self._holding.close()

    def _do(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float, show: bool, shared: bool
    ) -> tuple[CallResult, list[str]]:
        """Call a function of `engine.cells` on all ranks. Returns its results and a sentence on them."""
        checked(seconds)
        output = Output(show=show)
        with Stop() as stop:
            try:
                holding, ranks = self._holding.ranks(output, shared, stop)
                output.begin(ranks.size)
                results = [self._client(ranks, id).apply_async(function, *arguments, holding.anew) for id in ranks.ids]
                holding.bound, holding.anew = ranks, False
                watched = CallMonitor(ranks, results, output, seconds, holding.check).until_ended(stop)
                output.status = ""
                lines = describe_end(watched, ranks.size, seconds)
                if watched.deaf or watched.why == "died":
                    lines += self._replaced(holding, watched.why == "died", output)
                elif lines:
                    holding.anew = True
                    if watched.why:
                        lines.append("The ranks keep their names.")
                return watched, lines
            finally:
                output.finish()

    @staticmethod
    def _client(ranks: Ranks, id: int) -> DirectView:
        return ranks.client.direct_view(id)

    def _replaced(self, holding: RanksHolding, died: bool, output: Output) -> list[str]:
        """Replace stuck or dead ranks. Returns a sentence on it. From now on, the stop button ends the wait for the new
        ranks."""
        began = time.monotonic()
        lines = []
        with Stop() as stop:  # from before anybody reads that they are started
            output.status = "Starting new ranks…"
            output.draw(now=True)
            try:
                if died:
                    why = holding.held_ranks.why_gone(give_up=stop) or "the process of a rank has ended"
                    lines = [f"{capital(why).rstrip('.')}."]
                else:
                    holding.held_ranks.restart("ranks were stuck in a cell", stop)
                holding.ranks = holding.held_ranks.up(stop)
            except WorkshopError as gone:  # with all of its session, or nobody waits for them
                sentence = (
                    f"You stopped waiting for new ranks. {LATER}; {GONE.partition(',')[0]}." if stop() else str(gone)
                )
                return [*lines, sentence]
        holding.anew = False
        all_of = f"All {count(holding.ranks.size, 'rank')} were replaced in {time.monotonic() - began:.1f} s"
        return [*lines, f"{all_of}: {GONE}."]


class LeasedRanks:
    """The shared session's ranks while this notebook has them; the end of a `with` block gives them back."""

    def __init__(self, cells: Cells) -> None:
        self._of = cells

    def run(self, code: str, seconds: float = SECONDS, show: bool = True) -> list[RankResult]:
        """As `Cells.run`; raises RanksFailed also where a rank raised."""
        results = self._of.run(code, seconds, show, shared=True)
        if lines := errors(results):
            raise RanksFailed("\n".join(lines))
        return results

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
        """As `Cells.call`."""
        return self._of.call(function, *arguments, seconds=seconds, shared=True)

    def release(self) -> None:
        self._of.release()

    def __enter__(self) -> LeasedRanks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
