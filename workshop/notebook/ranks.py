"""Cells and functions on this notebook's own ranks, which the first cell starts.

`%%ranks` and `%%px` in a notebook. Both want ranks only when a cell is run.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipyparallel as ipp
from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.engine import cells as rank_side
from workshop.notebook.call_monitor import (
    DEAF,
    CallMonitor,
    CallResult,
    RankResult,
    Stop,
    describe_end,
    errors,
)
from workshop.notebook.output import Output
from workshop.notebook.own_ranks import OwnRanks, RanksFailed

if TYPE_CHECKING:
    from ipyparallel import DirectView
    from ipyparallel.client.magics import ParallelMagics

    from workshop.store.records import SessionRecord
    from workshop.store.store import Store

__all__ = ["SECONDS", "Cells", "RankResult", "RanksFailed", "cells", "errors"]

SECONDS = 300.0  # that a cell may take where nobody says otherwise
BOUND = 15.0  # seconds within which names are bound on ranks
LONGEST = 24 * 3600.0
_cells: Cells | None = None  # of the one session that this kernel is attached to


def cells(store: Store, session: SessionRecord) -> Cells:
    """The kernel's one `Cells`. Attaching to another session ends the ranks that were for the first one."""
    global _cells
    if _cells is None or _cells.session_id != session.id:
        if _cells is not None:
            _cells.own_ranks.close()
        _cells = Cells(store, session)
    return _cells


class Cells:
    """Runs cells and functions on all ranks."""

    def __init__(self, store: Store, session: SessionRecord) -> None:
        self.session_id = session.id
        self.own_ranks = OwnRanks(store, Placement.parse(session.placement))

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
        ranks = self.own_ranks.ready(output, stop)
        if self.own_ranks.bound is not ranks or self.own_ranks.anew:  # else they may be busy with what nobody waits for
            try:
                ranks.view.apply_async(rank_side.bind, os.getcwd(), self.own_ranks.anew).get(BOUND)
            except (TimeoutError, ipp.error.IPythonError) as error:
                raise WorkshopError(
                    f"The ranks don't answer ({type(error).__name__}); wait for what they do, then run the cell again."
                ) from None
            self.own_ranks.bound, self.own_ranks.anew = ranks, False
        return ranks.view

    def interrupt(self) -> list[str]:
        """Interrupt this notebook's own ranks, and replace them where one doesn't react. Returns a sentence on it."""
        ranks = self.own_ranks.line
        if ranks is None:
            return []
        self.own_ranks.anew = True
        output, client = Output(), ranks.client
        with Stop():
            try:
                ranks.interrupt(ranks.ids)
                deadline = time.monotonic() + DEAF
                while client.outstanding and ranks.alive and time.monotonic() < deadline:
                    time.sleep(0.05)
                if client.outstanding or not ranks.alive:
                    return self.own_ranks.replace(not ranks.alive, output)
                return ["The ranks keep their names."]
            finally:
                output.finish()

    def _do(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float
    ) -> tuple[CallResult, list[str]]:
        """Call a function of `engine.cells` on all ranks. Returns its results and a sentence on them."""
        if not 0 < seconds <= LONGEST:
            raise BadInput(
                f"seconds is {seconds:g}: it should be more than 0 and at most {LONGEST:.0f}, which is a day."
            )
        output = Output()
        with Stop() as stop:
            try:
                ranks = self.own_ranks.ready(output, stop)
                output.begin(ranks.size)
                views = map(ranks.client.direct_view, ranks.ids)
                calls = [view.apply_async(function, *arguments, self.own_ranks.anew) for view in views]
                self.own_ranks.bound, self.own_ranks.anew = ranks, False
                watched = CallMonitor(ranks, calls, output, seconds, self.own_ranks.check).until_ended(stop)
                output.status = ""
                lines = describe_end(watched, ranks.size, seconds)
                if watched.deaf or watched.why == "died":
                    lines += self.own_ranks.replace(watched.why == "died", output)
                elif lines:
                    self.own_ranks.anew = True
                    if watched.why:
                        lines.append("The ranks keep their names.")
                return watched, lines
            finally:
                output.finish()


def register(its_cells: Callable[[], Cells]) -> None:
    """Give this notebook `%%ranks` and `%%px`."""
    shell = get_ipython()
    shell.register_magics(CellMagics(shell, its_cells))


@magics_class
class UnattachedMagics(Magics):
    """In the place of `CellMagics` before a session is attached, as after a restart of the kernel."""

    @no_var_expand
    @cell_magic("ranks")
    @cell_magic("px")
    @line_magic("px")
    def no_session(self, line: str, cell: str = "") -> None:
        raise UsageError("There is no session yet: run the cell with workshop.attach() first, and those below it.")


@magics_class
class CellMagics(Magics):
    def __init__(self, shell: Any, its_cells: Callable[[], Cells]) -> None:
        super().__init__(shell=shell)
        self._cells = its_cells
        self._parallel: ParallelMagics | None = None

    @no_var_expand
    @magic_arguments("%ranks")
    @argument("--seconds", type=float, default=SECONDS, help="time limit of the cell; default: 300")
    @cell_magic("ranks")
    def cell_ranks(self, line: str, cell: str) -> None:
        """Run this cell on all ranks, at the same time.

        `rank`, `size` and `comm` (mpi4py) are there in each cell, and names that one cell makes are there in the next.
        The output of each rank is shown while the cell runs; the value of the last line is shown, too. The stop button
        ends the cell. Where ranks then wait for each other for ever they are replaced, and the names on them are gone.

        The ranks are this notebook's own, and are started by the first such cell.
        """
        try:
            options = parse_argstring(self.cell_ranks, line)
        except UsageError as error:
            raise BadInput(
                f"%%ranks: {error}; its line may have --seconds N, like --seconds 30, the code is below it."
            ) from None
        if not re.match(r"\s*%%", cell):  # a second magic has to come first itself
            cell = f"# %%ranks\n{cell}"  # lines have the numbers that the notebook shows
        if lines := errors(self._cells().run(cell, options.seconds)):
            raise RanksFailed("\n".join(lines))

    # ipyparallel's own, on the ranks that are up now.

    @no_var_expand
    @cell_magic("px")
    def cell_px(self, line: str, cell: str) -> Any:
        """ipyparallel's %%px on this notebook's own ranks, with `rank`, `size` and `comm`: see its documentation."""
        return self._parallel_magic("cell_px", line, cell)

    @no_var_expand
    @line_magic("px")
    def line_px(self, line: str) -> Any:
        """ipyparallel's %px on this notebook's own ranks: see its documentation."""
        return self._parallel_magic("px", line)

    @line_magic
    def pxresult(self, line: str) -> Any:
        """ipyparallel's %pxresult: the result of the last %px that was not waited for."""
        return self._parallel_magic("result", line)

    @line_magic
    def pxconfig(self, line: str) -> Any:
        """ipyparallel's %pxconfig: targets and blocking of %px."""
        return self._parallel_magic("pxconfig", line)

    @line_magic
    def autopx(self, line: str) -> Any:
        """ipyparallel's %autopx: all cells run on the ranks, until the magic is used again."""
        return self._parallel_magic("autopx", line)

    def _parallel_magic(self, name: str, *arguments: str) -> Any:
        """One of ipyparallel's magics on the ranks that are up now. Ranks that an interrupt leaves stuck are
        replaced."""
        rank_cells = self._cells()
        output = Output()
        with Stop() as stop:
            try:
                view = rank_cells.view(output, stop)
            finally:
                output.finish()
        try:
            return getattr(self._on(view), name)(*arguments)
        except KeyboardInterrupt:
            raise RanksFailed("\n".join(["You stopped the cell.", *rank_cells.interrupt()])) from None
        except UsageError as error:
            raise BadInput(f"%%px: {error}.") from None

    def _on(self, view: DirectView) -> ParallelMagics:
        """One object as long as the ranks are the same: it knows its last result and what %pxconfig has set."""
        from ipyparallel.client.magics import ParallelMagics

        old = self._parallel
        if old is None or old.view.client is not view.client:
            view.block = True  # cells follow each other, as they do in a notebook
            self._parallel = ParallelMagics(self.shell, view)
            self._parallel.signal_on_interrupt = None  # the stop button is ours: ranks may be deaf to a signal
            if old is not None:
                view.block = old.view.block
                for name in ("verbose", "stream_output", "progress_after_seconds", "signal_on_interrupt"):
                    setattr(self._parallel, name, getattr(old, name))
        return self._parallel
