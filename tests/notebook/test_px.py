"""`%%px` as ipyparallel documents it, on a notebook's own ranks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import PROBES, leftovers
from tests.notebook.kernel import Kernel, kernel
from tests.notebook.sessions import patient, state
from tests.support import starts_processes, until
from workshop.notebook.call_monitor import connected, who
from workshop.store.store import Store

SLOW = 150.0  # seconds; neighbours may have both cores
# What ranks have printed before ipyparallel listens it shows in one place for all of them: the last one's only. So they
# print a little later.
LATER = "import time; time.sleep(0.5)\n"


@pytest.fixture(scope="module")
@starts_processes
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with state(tmp_path_factory.mktemp("px")) as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(PROBES), os.environ.get("PYTHONPATH")])))
        with kernel(now=False) as started:
            cell = started.cell("import workshop\nsession = workshop.attach()", SLOW)
            assert not cell.error, cell.error
            yield started
        until(lambda: not leftovers(home), 60, "the ranks of a kernel that is gone to end")


def test_px_starts_ranks_and_waits_for_them(notebook: Kernel) -> None:
    cell = notebook.cell(f"%%px\n{LATER}print('rank', rank, 'of', size)\nkept = comm.allreduce(rank)", SLOW)
    assert re.match(r"Started 2 ranks of this notebook's own in [0-9.]+ s\.", cell.text)
    assert "[stdout:0] rank 0 of 2" in cell.text
    assert "[stdout:1] rank 1 of 2" in cell.text
    assert notebook.cell("%%ranks\nkept").text == "rank 0 | 1\nrank 1 | 1", "both kinds of cells share names"


def test_ipyparallel_s_options_and_magics_are_there(notebook: Kernel) -> None:
    cell = notebook.cell("%%px --targets 1 --noblock\nimport time; time.sleep(1)\nprint('only', rank)\nrank")
    assert "AsyncResult" in cell.text
    assert "only 1" in notebook.cell("%pxresult").text
    assert "only 0" not in notebook.cell("%%px --stream --targets 0,1 --out kept\nprint('x')").text
    assert notebook.cell("kept.get() and len(kept)").text == "2"
    assert "2" in notebook.cell("%px 1 + 1").text
    assert notebook.cell("%%px --no-such-option\n1").error.startswith("%%px: unrecognized arguments")
    notebook.cell("%autopx")
    assert "[stdout:1] here" in notebook.cell("print('here')").text
    notebook.cell("%autopx")
    assert notebook.cell("'rank' in globals()").text == "False"


def test_errors_on_ranks_are_ipyparallel_s(notebook: Kernel) -> None:
    cell = notebook.cell("%%px\n1 / 0")
    assert (cell.error, cell.text.count("division by zero")) == ("2 errors", 2)
    assert notebook.cell("%%ranks\ncomm.allreduce(1)").text == "rank 0 | 2\nrank 1 | 2"


def note_where(code: str, folder: Path) -> str:
    """A line of a cell: each rank makes a file, of the name of its number, once it stays in the line of that code."""
    return f"import asked_of_ranks; asked_of_ranks.note_where({code!r}, f'{folder}/{{rank}}')"


def test_stopping_ranks_that_wait_replaces_them_and_px_follows(notebook: Kernel, tmp_path: Path) -> None:
    notebook.cell("%px kept = 3", SLOW)
    cell = notebook.begin(f"%%px\n{note_where('comm.', tmp_path)}\nif rank == 1:\n    1 / 0\ncomm.Barrier()")
    notebook.sees(cell, lambda: (tmp_path / "0").exists())
    notebook.interrupt()
    notebook.end(cell, SLOW)
    assert cell.error.startswith("You stopped the cell.\nAll 2 ranks were replaced in ")
    assert "NameError" in notebook.cell("%px kept", SLOW).text
    cell = notebook.cell(f"%%px\n{LATER}print('again', comm.allreduce(rank))")
    assert cell.text.count("again 1") == 2


def test_stopping_what_can_be_stopped_keeps_names(notebook: Kernel, tmp_path: Path) -> None:
    notebook.cell("%px kept = 3", SLOW)
    with patient(notebook):
        cell = notebook.begin(
            f"%%px\nimport time\n{note_where('time.sleep', tmp_path)}\nwhile True:\n    time.sleep(0.1)"
        )
        notebook.sees(cell, lambda: (tmp_path / "0").exists() and (tmp_path / "1").exists())
        notebook.interrupt()
        notebook.end(cell, SLOW)
    assert cell.error == "You stopped the cell.\nThe ranks keep their names."
    assert notebook.cell("%%ranks\nkept").text == "rank 0 | 3\nrank 1 | 3"


def test_stopping_a_cell_after_one_of_its_ranks_has_died(notebook: Kernel) -> None:
    notebook.cell("%px 1", SLOW)  # which starts ranks where there are none
    with Store.open() as store:
        (session,) = (one for one in store.sessions() if one.name.startswith("cells-") and one.up)
    beside = connected(session)  # hears of ranks what the notebook does
    killed = psutil.Process(who(session)[1][2])
    mpirun = killed.parent()
    assert mpirun is not None
    cell = notebook.begin("%%px\nimport time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)")
    notebook.sees(cell, lambda: "begun" in cell.text)
    mpirun.suspend()  # else it would end the other rank, and with it the cell
    try:
        killed.kill()
        until(lambda: not beside.alive, 30, "the rank to be counted no longer")
        notebook.interrupt()
        notebook.sees(cell, lambda: "Starting new ranks" in cell.text or cell.ended)
    finally:
        mpirun.resume()
        beside.close()
    notebook.end(cell, SLOW)
    first, *_, last = cell.error.split("\n")
    assert first == "You stopped the cell.", cell.error
    assert last.startswith("All 2 ranks were replaced in "), cell.error
    assert notebook.cell(f"%%px\n{LATER}print('again', comm.allreduce(rank))", SLOW).text.count("again 1") == 2
