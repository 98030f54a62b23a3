"""`%%ranks` in a real kernel: cells on real ranks, what they show, and how they end."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.conftest import PROBES, leftovers
from tests.notebook.kernel import Kernel, kernel
from tests.notebook.sessions import patient, running, state
from tests.support import limit, starts_processes, until
from workshop.core import processes
from workshop.sessions import client
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

ATTACH = "import workshop\nsession = workshop.attach('class')"
REPLACED = re.compile(
    r"All 2 ranks were replaced in [0-9.]+ s: the names on them are gone, so run the cells above again."
)
TELL = "asked_of_ranks.say_told('comm.')"  # a line of a cell, of which a later one stays in a call of `comm`
PIDS = "%%ranks\nimport os\nos.getpid()"
SLOW = 150.0  # seconds; neighbours may have both cores


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("ranks")
    with state(folder) as made, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # with it ipykernel doesn't look at what commands print
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(PROBES), os.environ.get("PYTHONPATH")])))
        yield made
        until(lambda: not leftovers(made), 60, "the ranks of kernels that are gone to end")


@pytest.fixture(scope="module")
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture(scope="module")
@starts_processes
def shared(store: Store) -> Iterator[str]:
    with running(store) as session:
        yield session.name


@pytest.fixture(scope="module")
@starts_processes
def notebook(shared: str) -> Iterator[Kernel]:
    with kernel() as started:
        assert "class" in started.run(f"{ATTACH}\nsession")
        yield started


def submit(store: Store, session: str) -> RunRecord:
    params = {"data": "blobs", "points": 2000, "clusters": 3, "iterations": 3, "backend": "numpy"}
    return client.submit(store, store.session(session), "kmeans", params)


def own(store: Store) -> SessionRecord:
    """The session of the notebook's own ranks."""
    (session,) = [one for one in store.sessions() if one.name.startswith("cells-") and one.up]
    return session


def launchers(conductor: psutil.Process) -> set[psutil.Process]:
    return {process for process in conductor.children() if process.name() in ("mpirun", "prterun")}


def ranks_of(notebook: Kernel) -> list[int]:
    """The processes of the ranks."""
    return [int(pid) for pid in re.findall(r"^rank \d \| (\d+)$", notebook.cell(PIDS, SLOW).text, re.M)]


def test_the_first_cell_starts_ranks_and_names_stay(notebook: Kernel) -> None:
    cell = notebook.cell("%%ranks\nprint(f'rank {rank} of {size}')\napples = 10 * rank\ncomm.allgather(apples)", SLOW)
    lines = cell.text.split("\n")
    assert re.fullmatch(r"Started 2 ranks of this notebook's own in [0-9.]+ s\.", lines[0])
    assert lines[1:] == [
        "rank 0 | rank 0 of 2", "rank 0 | [0, 10]", "rank 1 | rank 1 of 2", "rank 1 | [0, 10]"
    ]  # fmt: skip
    assert notebook.cell("%%ranks\napples, rank").text == "rank 0 | (0, 0)\nrank 1 | (10, 1)"
    assert notebook.cell("%%ranks\nfor rank in range(9): pass").outputs == []
    assert notebook.cell("%%ranks\nrank;").outputs == []
    assert "Wall time" in notebook.cell("%%ranks\n%time rank").text


def test_output_comes_while_the_cell_runs(notebook: Kernel, tmp_path: Path) -> None:
    notebook.cell("%%ranks\nimport os, time")
    cell = notebook.begin(
        "%%ranks\nprint('\\x1b[31m<begun>')\nfor step in range(40):\n    print(step, flush=True)\n"
        "    time.sleep(0.02)\n"
        f"    while step == 20 and not os.path.exists({str(tmp_path / 'seen')!r}):\n        time.sleep(0.05)"
    )
    notebook.sees(cell, lambda: cell.text.endswith("rank 1 | 20"))
    assert not cell.ended
    (tmp_path / "seen").touch()
    notebook.end(cell)
    assert cell.text.count("rank 1 | ") == 41
    assert '<span style="color: #d1242f; text-decoration-color: #d1242f">&lt;begun&gt;' in cell.html
    assert cell.html.index("rank 0") < cell.html.index("rank 1")
    assert len(cell.outputs) == 1
    assert 2 <= cell.drawings <= 82, "drawn while it runs, and not more often than something is printed"


def test_figures_are_shown_below_with_their_rank(notebook: Kernel) -> None:
    cell = notebook.cell(
        "%%ranks\nprint('text')\nfrom IPython.display import HTML\nHTML(f'<b>of {rank}</b>') if rank else None"
    )
    assert [output["text/plain"] for output in cell.outputs[:2]] == ["rank 0 | text\nrank 1 | text", "rank 1:"]
    assert cell.outputs[2]["text/html"] == "<b>of 1</b>"


def test_a_cell_awaits_and_imports_modules_beside_the_notebook(notebook: Kernel) -> None:
    notebook.cell("import os, pathlib, tempfile\nbefore = os.getcwd()\nos.chdir(tempfile.mkdtemp())")
    notebook.cell("_ = pathlib.Path('beside_it.py').write_text('VALUE = 42')")
    cell = notebook.cell("%%ranks\nimport asyncio, beside_it\nawait asyncio.sleep(0)\nprint(beside_it.VALUE)")
    assert cell.text.endswith("rank 0 | 42\nrank 1 | 42")
    notebook.cell("import shutil\nshutil.rmtree(os.getcwd())\nos.chdir(before)")
    assert "before" in notebook.cell("%%ranks\nasyncio.run(asyncio.sleep(0, 'before'))").text


def test_a_flood_is_stopped(notebook: Kernel) -> None:
    cell = notebook.cell("%%ranks\nwhile True:\n    print('drop ' * 20)", SLOW)
    assert "ranks 0-1: the cell printed more than 2 MB and was stopped (line 3: print('drop ' * 20))" in cell.text
    assert len(cell.text) < 100_000
    assert re.search(r"\([0-9,]+ lines before these left out\)", cell.text)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("%%ranks\n\nint(f'of {rank}')",
         "rank 0: ValueError: invalid literal for int() with base 10: 'of 0' (line 3: int(f'of {rank}'))\n"
         "rank 1: ValueError: invalid literal for int() with base 10: 'of 1' (line 3: int(f'of {rank}'))"),
        ("%%ranks\nx = 1 / 0", "ranks 0-1: ZeroDivisionError: division by zero (line 2: x = 1 / 0)"),
        ("%%ranks\nif rank == 1:\n    1 / 0", "rank 1: ZeroDivisionError: division by zero (line 3: 1 / 0)"),
        ("%%ranks\nx = = 1", "ranks 0-1: SyntaxError: invalid syntax (line 2: x = = 1)"),
        ("%%ranks\nexit()", "ranks 0-1: SystemExit: exit() doesn't end a rank (line 2: exit())"),
        ("%%ranks --seconds soon\n1", "%%ranks: argument --seconds: invalid float value: 'soon'; its line may have "
         "--seconds N, like --seconds 30, the code is below it."),
        ("%%ranks --seconds 0\n1", "seconds is 0: it should be more than 0 and at most 86400, which is a day."),
        ("%%ranks --second 3 --fast\n1", "%%ranks: unrecognized arguments: --fast; its line may have --seconds N, "
         "like --seconds 30, the code is below it."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(notebook: Kernel, code: str, said: str) -> None:
    cell = notebook.cell(code)
    assert cell.error == said
    assert cell.outputs == []


def test_functions_are_called_on_all_ranks(notebook: Kernel) -> None:
    assert notebook.cell("import asked_of_ranks\nsession.ranks.call(asked_of_ranks.look, 4)").text == "[(5, 0), (5, 1)]"
    assert notebook.cell("session.ranks.call(asked_of_ranks.fall)").error == "rank 1: ValueError: not here"
    said = notebook.cell("session.ranks.call(lambda names: 1)").error
    assert said == "<lambda> can't be imported on the ranks; write it in a module, outermost."
    said = notebook.cell("session.ranks.call(asked_of_ranks.wait, seconds=8)", SLOW).error
    assert said.startswith("The cell had not ended after 8 s: rank 1 had finished; rank 0 was")
    assert REPLACED.search(said)


def test_stopping_what_can_be_stopped_keeps_names(notebook: Kernel) -> None:
    notebook.cell("%%ranks\nkept = rank\nimport time, asked_of_ranks", SLOW)
    with patient(notebook):
        cell = notebook.begin(
            "%%ranks\nif rank == 1:\n    asked_of_ranks.say_told('time')\n    while True:\n        time.sleep(0.1)"
        )
        notebook.sees(cell, lambda: "rank 1 | told" in cell.text and "rank 0 ended" in cell.text)
        notebook.interrupt()
        notebook.end(cell)
    assert cell.error == (
        "You stopped the cell: rank 0 had finished; rank 1 was in line 5: `time.sleep(0.1)`.\n"
        "The ranks keep their names."
    )
    assert notebook.cell("%%ranks\nkept, comm.allreduce(1)").text == "rank 0 | (0, 2)\nrank 1 | (1, 2)"


def test_stopping_ranks_in_a_collective_replaces_them(notebook: Kernel) -> None:
    notebook.cell("%%ranks\nimport asked_of_ranks", SLOW)
    cell = notebook.begin(f"%%ranks\n{TELL}\nif rank == 1:\n    comm.Barrier()\nelse:\n    comm.recv(source=1)")
    notebook.sees(cell, lambda: cell.text.count("told") == 2)
    notebook.interrupt()
    notebook.end(cell, SLOW)
    first, second = cell.error.split("\n")
    assert first == (
        "You stopped the cell: rank 0 was in line 6: `comm.recv(source=1)`; rank 1 was in line 4: `comm.Barrier()`."
    )
    assert REPLACED.fullmatch(second)
    assert "NameError" in notebook.cell("%%ranks\nkept").error
    assert notebook.cell("%%ranks\ncomm.allreduce(1)").text == "rank 0 | 2\nrank 1 | 2"


def test_stopping_the_wait_for_new_ranks(notebook: Kernel, store: Store) -> None:
    """They come up all the same, for whichever cell waits for them."""
    notebook.cell("%%ranks\nimport asked_of_ranks", SLOW)
    conductor = psutil.Process(own(store).conductor_pid)
    before = launchers(conductor)
    stuck = notebook.begin(f"%%ranks\n{TELL}\ncomm.recv(source=rank)")
    notebook.sees(stuck, lambda: stuck.text.count("told") == 2)
    notebook.interrupt()
    (launcher,) = until(lambda: launchers(conductor) - before, 30, "new ranks to be started")
    launcher.suspend()  # they are not up before the button is pressed
    try:
        notebook.sees(stuck, lambda: "Starting new ranks" in stuck.text or stuck.ended)
        notebook.interrupt()
        notebook.end(stuck)
        assert stuck.error.split("\n")[1:] == [
            "You stopped waiting for new ranks. The next cell has them as soon as they are up; the names on them are "
            "gone."
        ]
        cell = notebook.begin("%%ranks\nrank")
        notebook.sees(cell, lambda: "Waiting for new ranks" in cell.text or cell.ended)
        notebook.interrupt()
        notebook.end(cell)
        assert cell.error == (
            "You stopped the cell while ranks were being replaced. The next cell has them as soon as they are up."
        )
    finally:
        launcher.resume()
    cell = notebook.cell("%%ranks\ncomm.allreduce(1)", SLOW)
    assert "The ranks were replaced since the last cell (ranks were stuck in a cell): " in cell.text
    assert cell.text.endswith("rank 0 | 2\nrank 1 | 2")


def test_one_raises_while_others_wait(notebook: Kernel) -> None:
    cell = notebook.cell("%%ranks\nif rank == 1:\n    raise ValueError('damaged')\ncomm.Barrier()", SLOW)
    first, second, third = cell.error.split("\n")
    assert first == "rank 1: ValueError: damaged (line 3: raise ValueError('damaged'))"
    assert second == "Rank 0 waited for others that no longer come, in line 4: `comm.Barrier()`."
    assert REPLACED.fullmatch(third)


def test_one_returns_while_others_wait(notebook: Kernel) -> None:
    cell = notebook.cell("%%ranks --seconds 8\nif rank == 0:\n    comm.recv(source=1)", SLOW)
    first, second = cell.error.split("\n")
    assert first == (
        "The cell had not ended after 8 s: rank 1 had finished; rank 0 was in line 3: `comm.recv(source=1)`."
    )
    assert REPLACED.fullmatch(second)


def test_a_rank_is_killed(notebook: Kernel) -> None:
    cell = notebook.cell("%%ranks\nimport os, signal\nif rank:\n    os.kill(os.getpid(), 9)\ncomm.Barrier()", SLOW)
    first, second = cell.error.split("\n")
    assert re.fullmatch(r"Rank 1 \(process \d+ on .*\) was ended by SIGKILL\.", first)
    assert REPLACED.fullmatch(second)
    pids = ranks_of(notebook)
    os.kill(pids[0], signal.SIGKILL)  # between two cells
    until(lambda: not any(map(psutil.pid_exists, pids)), 30, "all ranks to be gone")
    cell = notebook.cell("%%ranks\nrank", SLOW)
    assert "The ranks were replaced since the last cell" in cell.text
    assert cell.text.endswith("rank 0 | 0\nrank 1 | 1")


def kill_conductor(store: Store) -> None:
    conductor = psutil.Process(own(store).conductor_pid)
    conductor.kill()
    threads = Path(f"/proc/{conductor.pid}/task")  # it is over when all have ended, of a process that is waited for
    until(lambda: not processes.alive(conductor) and len(list(threads.glob("*"))) < 2, 30, "its conductor to end")


def test_the_session_of_the_ranks_died(notebook: Kernel, store: Store) -> None:
    kill_conductor(store)
    cell = notebook.cell("%%ranks\nrank", SLOW)
    assert cell.text.startswith("Your ranks are gone, and the names on them. Started 2 ranks"), cell.text
    cell = notebook.begin("%%ranks\nprint('begun')\ncomm.recv(source=rank)")
    notebook.sees(cell, lambda: "begun" in cell.text)
    kill_conductor(store)
    notebook.end(cell, SLOW)
    assert cell.error == "The session of this notebook's ranks has died; run the cell again to get new ones."
    assert notebook.cell("%%ranks\nrank", SLOW).text.endswith("rank 0 | 0\nrank 1 | 1")


def test_ranks_that_eat_the_memory_are_replaced_with_a_sentence(notebook: Kernel, store: Store) -> None:
    notebook.cell("%%ranks\nrank", SLOW)
    notebook.cell("import os\nos.environ['WORKSHOP_MEMORY'] = '600M'")
    kill_conductor(store)  # the next one reads it
    cell = notebook.cell("%%ranks\neaten = []\nwhile True:\n    eaten.append(bytearray(b'x') * (8 << 20))", SLOW)
    first, second = cell.error.split("\n")
    assert first.startswith("The ranks took more memory than WORKSHOP_MEMORY allows: rank "), first
    assert REPLACED.fullmatch(second)
    notebook.cell("del os.environ['WORKSHOP_MEMORY']")
    kill_conductor(store)
    assert notebook.cell("%%ranks\nrank", SLOW).text.endswith("rank 0 | 0\nrank 1 | 1")


def test_a_run_of_the_class_goes_on_beside_cells(notebook: Kernel, store: Store, shared: str) -> None:
    run = submit(store, shared)
    cell = notebook.begin("%%ranks\nimport time\ntime.sleep(2)\ncomm.allreduce(1)")
    assert client.wait(store, run.id, timeout=limit(SLOW)).status == "completed"
    assert notebook.end(cell).text.endswith("rank 0 | 2\nrank 1 | 2")


def test_a_kernel_that_is_restarted_leaves_nothing(store: Store, home: Path, notebook: Kernel, shared: str) -> None:
    before = {process.pid for process in leftovers(home)}
    with kernel() as second:  # beside the first one
        second.run(ATTACH)
        pids = ranks_of(second)
        assert len(pids) == 2
        assert not set(pids) & set(ranks_of(notebook))
        second.restart()
        second.run(ATTACH)
        cell = second.cell("%%ranks\nrank", SLOW)
        assert cell.text.endswith("rank 0 | 0\nrank 1 | 1")
        assert "Started 2 ranks" in cell.text
        until(lambda: not any(map(psutil.pid_exists, pids)), 30, "the first kernel's ranks to end")
    until(lambda: {process.pid for process in leftovers(home)} <= before, 30, "the second kernel's ranks to end")


def test_a_notebook_is_executed_without_a_browser(shared: str) -> None:
    new = nbformat.v4
    cells = [
        new.new_code_cell(ATTACH),
        new.new_code_cell("%%ranks\nraise ValueError('meant')", metadata={"tags": ["raises-exception"]}),
        new.new_code_cell("%%ranks\nprint('on', rank)"),
        new.new_code_cell("%%ranks\nraise ValueError('not meant')"),
        new.new_code_cell("print('never')"),
    ]
    book = new.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    with pytest.raises(CellExecutionError, match="ranks 0-1: ValueError: not meant"):
        NotebookClient(book, timeout=limit(SLOW)).execute()
    assert book.cells[2].outputs[0]["data"]["text/plain"] == "rank 0 | on 0\nrank 1 | on 1"
    assert book.cells[4].outputs == []


def test_a_terminal_gets_plain_text(shared: str, tmp_path: Path) -> None:
    script = tmp_path / "terminal.ipy"
    script.write_text(f"{ATTACH}\nget_ipython().run_cell_magic('ranks', '', 'print(rank)')\n")
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor", str(script)]
    with psutil.Popen(command, stdout=-1, stderr=-2, text=True) as process:
        said, _ = process.communicate(timeout=limit(SLOW))
    assert "Starting 2 ranks of this notebook's own…" in said
    assert said.rstrip().endswith("rank 0 | 0\nrank 1 | 1")
