"""`workshop.lab` as a notebook uses it: guesses, checks in the kernel and on ranks, progress, and what goes wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.course import labs
from tests.notebook.kernel import Kernel, kernel
from tests.support import starts_processes
from workshop import extension, registry
from workshop.core.errors import BadInput
from workshop.course.exercise_checks import MISSING
from workshop.notebook.lab import NotebookLab, compared, lab, read_guess
from workshop.store.store import Store

NOTEBOOK = labs.NOTEBOOK.replace("How much is it?\n", 'How much is it?\n\n```python\nlab.predict("sum", 5)\n```\n')


@pytest.fixture
def folder(tmp_path: Path, workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lab, in place of the real one, for a learner called ada."""
    monkeypatch.setenv("WORKSHOP_LEARNER", "ada")
    made = labs.small(tmp_path / "labs", notebook=NOTEBOOK)
    monkeypatch.setattr(registry, "labs", lambda: [extension.Lab(made)])
    return made


@pytest.fixture
def small(folder: Path) -> NotebookLab:
    return lab("small")


def right(one: int, other: int) -> int:
    return one + other


# What it says of itself.


def test_a_lab_shows_its_goals_and_how_far_one_is(small: NotebookLab, store: Store) -> None:
    assert repr(small).splitlines() == ["Lab 1: Small things, about 20 minutes", "- Add", "Exercise total: to do"]
    small.check("total", lambda one, other: one * other)
    assert "Exercise total: not right yet, after 1 check" in repr(small)
    small.check("total", right)
    assert "Exercise total: right" in repr(small)
    (html,) = small.pieces()
    assert "<li>Add</li>" in html and "<code>total</code>" in html
    kept = {(one.kind, one.item): one for one in store.progress("ada", "small")}
    assert set(kept) == {("notebook", ""), ("exercise", "total")}
    assert (kept["exercise", "total"].tries, kept["exercise", "total"].state) == (2, "right")


def test_a_lab_whose_files_are_bad_says_so(folder: Path, small: NotebookLab) -> None:
    (folder / "checks.py").write_text("x = (\n")
    with pytest.raises(BadInput, match=r"checks.py, line 1"):
        small.check("total", right)
    (folder / "lab.yaml").write_text("number: one\n")
    with pytest.raises(BadInput, match=r"lab.yaml, line 1: number is .one.: it should be"):
        lab("small")


# Checks in this process.


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (right, "total is right. All exercises of this lab are right."),
        (lambda one, other: one * other, "total is not right yet. This is the product."),
        (lambda one, other: None, "total is empty. Nothing is there yet: return a number."),
        (..., "total is empty. Nothing is there yet"),
        (MISSING, "run the cell that defines total first"),
    ],
)
def test_checks(small: NotebookLab, capsys: pytest.CaptureFixture[str], answer: object, said: str) -> None:
    small.check("total", answer)
    assert said in capsys.readouterr().out


def test_hints_come_in_steps_and_the_solution_at_the_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "checks.py").read_text()
    described = '@exercise("total", hint="Look at the sign between them.", reason="A sum adds both.")'
    (folder / "checks.py").write_text(text.replace('@exercise("total")', described))
    opened = lab("small")
    with pytest.raises(BadInput, match="opens after 4 checks in a row that are not right; there are 0"):
        opened.solution("total")
    outputs = []
    for _ in range(4):
        opened.check("total", lambda one, other: one * other)
        outputs.append(capsys.readouterr().out)
        opened.check("total", ...)  # an empty answer is no wrong one
        capsys.readouterr()
    assert ["Look at the sign" in output for output in outputs] == [False, True, True, True]
    assert ["lab.solution" in output for output in outputs] == [False, False, False, True]
    opened.solution("total")
    shown = capsys.readouterr().out
    assert "return one + other" in shown and "A sum adds both." in shown and "BEGIN SOLUTION" not in shown
    opened.check("total", right)
    capsys.readouterr()
    opened.solution("total")  # stays open
    assert "return one + other" in capsys.readouterr().out


# Guesses.


def test_a_guess_is_kept_and_compared(small: NotebookLab, capsys: pytest.CaptureFixture[str], store: Store) -> None:
    def said() -> str:
        return capsys.readouterr().out.strip()

    small.predict("sum")
    assert said().startswith("No guess for sum yet.")
    small.predict("sum", np.float64(4))
    small.predict("sum", 6)  # nothing was seen yet
    small.predict("sum")
    assert said().splitlines()[-1] == "Your guess for sum is 6. It is kept, and shown beside what is measured."
    small.measured("sum", np.int64(5))
    assert said() == "sum: you guessed 6, measured 5. Your guess was 20 % too high."
    small.predict("sum", 5)
    assert said() == "Your guess for sum was 6. Measured: 5. It was measured already, so that guess stays."
    (kept,) = [one for one in store.progress("ada", "small") if one.kind == "prediction"]
    assert kept.value == {"guess": 6, "measured": 5}


def test_no_guess_after_it_was_measured(small: NotebookLab, capsys: pytest.CaptureFixture[str], store: Store) -> None:
    small.measured("sum", 5)
    assert "You made no guess" in capsys.readouterr().out
    small.predict("sum", 5)
    assert "A guess counts only before that" in capsys.readouterr().out
    (kept,) = [one for one in store.progress("ada", "small") if one.kind == "prediction"]
    assert kept.value == {"measured": 5}


@pytest.mark.parametrize("value", [float("nan"), math.inf, object(), len])
def test_what_is_no_guess(small: NotebookLab, value: object) -> None:
    with pytest.raises(BadInput, match="sum is "):
        small.predict("sum", value)


values = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=9))


@given(values, values)
def test_any_two_values_are_compared(guess: object, measured: object) -> None:
    said = compared("x", {"guess": read_guess("x", guess), "measured": read_guess("x", measured)})
    assert said.words().startswith("x: you guessed ")
    (html,) = said.pieces()
    assert "<div" in html


def test_opened_again(small: NotebookLab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "here before" not in repr(lab("small"))  # the cell was only run again
    monkeypatch.setattr(sys.modules[NotebookLab.__module__], "_opened", set())  # as in another kernel
    assert "You have been here before: what was right is kept." in repr(lab("small"))


# On ranks, in a real kernel.

STUCK = """
import time
from workshop.course.exercise_checks import Hint, exercise

@exercise("total", ranks=True)
def total(comm, given):
    if comm.Get_rank() == 0:
        raise Hint("This is rank 0's own hint.")
    given(comm)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
@starts_processes
def notebook(home: Path) -> Iterator[Kernel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        with kernel() as started:
            assert "ranks" in started.run("import workshop\nsession = workshop.attach()\nsession")
            started.run('lab = workshop.lab("first")')
            yield started


@pytest.mark.real
def test_exercises_on_ranks(notebook: Kernel) -> None:
    assert "Nothing is there yet: run the cell that defines whoami first." in notebook.run('lab.check("whoami")')
    notebook.run("%%ranks\ndef whoami(comm):\n    ...  # your code")
    assert "whoami is empty. Nothing is there yet" in notebook.run('lab.check("whoami")')
    notebook.run("%%ranks\ndef whoami(comm):\n    return comm.Get_rank(), comm.Get_size(), comm.Get_rank() + 1")
    assert "whoami is not right yet" in (said := notebook.run('lab.check("whoami")')) and "ring" in said
    notebook.run("%%ranks\ndef whoami(comm):\n    return rank, size, 1 / 0")
    assert "raised ZeroDivisionError" in notebook.run('lab.check("whoami")')
    notebook.run("%%ranks\ndef whoami(comm):\n    r, s = comm.rank, comm.size\n    return r, s, (r + 1) % s")
    assert "whoami is right" in notebook.run('lab.check("whoami")')
    said = notebook.run('lab.check("whoami", whoami)')
    assert "name 'whoami' is not defined" in said  # it lives on the ranks
    said = notebook.run('lab.check("whoami", 3)')
    assert 'lab.check("whoami") alone' in said and "Traceback" not in said
    notebook.run("def mine(count, rank, size):\n    return range(rank, count, size)")
    assert "mine is right" in notebook.run('lab.check("mine")')  # by its name


@pytest.mark.real
def test_a_rank_that_told_before_the_others_were_stuck(notebook: Kernel, tmp_path: Path) -> None:
    labs.small(tmp_path, checks=STUCK)
    notebook.run(
        "from pathlib import Path\nfrom workshop import extension, registry\n"
        "from workshop.course import exercise_checks as checking\nkept = registry.labs, checking.CHECK_SECONDS\n"
        f"registry.labs = lambda: [extension.Lab(Path({str(tmp_path / 'small')!r}))]\n"
        "checking.CHECK_SECONDS = 2.0\nsmall = workshop.lab('small')"
    )
    notebook.run("%%ranks\ndef total(comm):\n    comm.recv(source=0)")
    said = notebook.run('small.check("total")')
    notebook.run("registry.labs, checking.CHECK_SECONDS = kept")
    assert "total is not right yet. Rank 0: This is rank 0's own hint." in said
    assert "were replaced" in said and "run the cells above again" in said
    assert "Nothing is there yet" in notebook.run('lab.check("whoami")')  # names are gone, all else goes on
