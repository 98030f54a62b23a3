"""`%%ranks` and `%%px` in a notebook. Both want ranks only when a cell is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from workshop.core.errors import BadInput
from workshop.notebook import ranks
from workshop.notebook.call_monitor import Stop
from workshop.notebook.output import Output

if TYPE_CHECKING:
    from ipyparallel import DirectView
    from ipyparallel.client.magics import ParallelMagics

    from workshop.notebook.session import Session

FIRST = "# %%ranks\n"  # in the place of the magic's line, so that lines have the numbers that the notebook shows


def register(session: Session) -> None:
    """Give this notebook `%%ranks` and `%%px` on the ranks of a session."""
    shell = get_ipython()
    shell.register_magics(CellMagics(shell, session))


@magics_class
class UnattachedMagics(Magics):
    """In the place of `CellMagics` before a session is attached, as after a restart of the kernel."""

    @no_var_expand
    @cell_magic("ranks")
    def cell_ranks(self, line: str, cell: str) -> None:
        raise UsageError("There is no session yet: run the cell with workshop.attach() first, and those below it.")


@magics_class
class CellMagics(Magics):
    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell=shell)
        self._session = session
        self._parallel: ParallelMagics | None = None

    @no_var_expand
    @magic_arguments("%ranks")
    @argument("--seconds", default=str(ranks.SECONDS), help="time limit of the cell; default: 300")
    @cell_magic("ranks")
    def cell_ranks(self, line: str, cell: str) -> None:
        """Run this cell on all ranks, at the same time.

        `rank`, `size` and `comm` (mpi4py) are there in each cell, and names that one cell makes are there in the next.
        The output of each rank is shown while the cell runs; the value of the last line is shown, too. The stop button
        ends the cell. Where ranks then wait for each other for ever they are replaced, and the names on them are gone.

        The ranks are this notebook's own, and are started by the first such cell.
        """
        options = _parsed(self.cell_ranks, line)
        results = ranks.cells(self._session).run(_numbered(cell), _seconds(options.seconds))
        if lines := ranks.errors(results):
            raise ranks.RanksFailed("\n".join(lines))

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
        with self._on_ranks() as parallel:
            return getattr(parallel, name)(*arguments)

    @contextmanager
    def _on_ranks(self) -> Iterator[ParallelMagics]:
        """ipyparallel's magics on the ranks that are up now. Ranks that an interrupt leaves stuck are replaced."""
        rank_cells = ranks.cells(self._session)
        output = Output()
        with Stop() as stop:
            try:
                view = rank_cells.view(output, stop)
            finally:
                output.finish()
        try:
            yield self._on(view)
        except KeyboardInterrupt:
            raise ranks.RanksFailed("\n".join(["You stopped the cell.", *rank_cells.interrupt()])) from None
        except UsageError as error:
            raise BadInput(f"%%px: {error}.") from None

    def _on(self, view: DirectView) -> ParallelMagics:
        """One object as long as the ranks are the same: it knows its last result and what %pxconfig has set."""
        from ipyparallel.client.magics import ParallelMagics

        old = self._parallel
        if old is None or old.view.client is not view.client:
            view.block = True  # rank_cells follow each other, as they do in a notebook
            self._parallel = ParallelMagics(self.shell, view)
            self._parallel.signal_on_interrupt = None  # the stop button is ours: ranks may be deaf to a signal
            if old is not None:
                view.block = old.view.block
                for name in ("verbose", "stream_output", "progress_after_seconds", "signal_on_interrupt"):
                    setattr(self._parallel, name, getattr(old, name))
        return self._parallel


def _parsed(function: Callable[..., Any], line: str) -> Any:
    """The options of a cell. Raises BadInput."""
    try:
        return parse_argstring(function, line)
    except UsageError as error:
        raise BadInput(f"%%ranks: {error}; its line may have --seconds N, the code is below it.") from None


def _seconds(text: str) -> float:
    try:
        return ranks.checked(float(text))
    except ValueError:
        raise BadInput(f"--seconds is {text!r}: it should be a number of seconds, like --seconds 30.") from None


def _numbered(cell: str) -> str:
    """A cell's code with lines numbered as the notebook does, where %%ranks is the first one. A second magic has to
    come first itself."""
    return cell if re.match(r"\s*%%", cell) else FIRST + cell
