"""Every exercise of every lab: its solution is right, nothing counts as nothing, typical mistakes get their hints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.labs import exercises
from tests.labs.exercises import LABS, Task, mistakes
from tests.ranks import ROOT, run_ranks
from workshop.course import catalogue, exercise_checks
from workshop.mpi import openmpi

ONE_SENTENCE = 450  # characters of a hint at most


@cache
def tasks(lab: str) -> dict[str, Task]:
    return {task.exercise.id: task for task in exercises.tasks(lab)}


def local() -> list[tuple[str, str]]:
    """Labs and exercises whose checks need no ranks."""
    return [(lab, id) for lab in LABS for id, check in exercise_checks.load(LABS[lab]).items() if not check.ranks]


def of_ranks() -> list[tuple[str, str]]:
    return [(lab, id) for lab in LABS for id, check in exercise_checks.load(LABS[lab]).items() if check.ranks]


each_local = pytest.mark.parametrize(("lab", "id"), local())


@pytest.mark.real
def test_nothing_is_wrong_with_the_course() -> None:
    assert catalogue.problems(next(iter(LABS.values())).parent) == []


@pytest.mark.parametrize("lab", LABS)
def test_every_check_has_an_exercise(lab: str) -> None:
    exercises = exercise_checks.load(LABS[lab])
    assert list(tasks(lab)) == list(exercises)
    assert all(exercise.hint and exercise.reason for exercise in exercises.values())


@pytest.mark.real
@each_local
def test_solution_is_right_and_an_empty_exercise_is_told_so(lab: str, id: str) -> None:
    task = tasks(lab)[id]
    assert exercise_checks.run(task.exercise, task.solved) == exercise_checks.RIGHT
    empty = exercise_checks.run(task.exercise, task.unsolved)
    assert empty.kind == "empty", empty


@pytest.mark.real
@each_local
def test_typical_mistakes_get_their_hints(lab: str, id: str) -> None:
    task = tasks(lab)[id]
    for mistake in mistakes(lab, id):
        found = exercise_checks.run(task.exercise, task.answer(mistake.code))
        assert not found.right, mistake.name
        assert mistake.hint in found.sentence, (mistake.name, found)
        assert len(found.sentence) <= ONE_SENTENCE, found.sentence


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("lab", "id"), of_ranks())
def test_exercises_on_ranks(lab: str, id: str, ranks: int) -> None:
    found = dict(run_ranks("tests.labs.exercises", ranks)[lab][id])  # one start of the ranks for all labs
    assert found.pop("solved") == ["right", ""]
    assert found.pop("unsolved")[0] == "empty"
    assert set(found) == {mistake.name for mistake in mistakes(lab, id)}
    for mistake in mistakes(lab, id):
        kind, said = found[mistake.name]
        assert kind != "right" and mistake.hint in said, (mistake.name, said)
        assert len(said) <= ONE_SENTENCE, said


@pytest.mark.real
def test_what_is_wrong_is_told_though_another_rank_waits_for_ever(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    command = [openmpi.launcher(), "-n", "2", "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
    with subprocess.Popen(
        [*command, sys.executable, "-m", "tests.labs.waits", str(told)],
        cwd=ROOT,
        env=os.environ | openmpi.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as ranks:
        try:
            assert ranks.stdout is not None
            assert ranks.stdout.readline() == "told\n"
        finally:
            ranks.terminate()
    rank, kind, said = json.loads(told.read_text())
    assert (rank, kind) == (1, "error")
    assert "Line 6 of your cell (return 1 / 0) raised ZeroDivisionError" in said
