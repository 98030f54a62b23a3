"""The workload on one rank, and its lab: what belongs together, right and wrong answers."""

import json
import math
import subprocess
import sys
from types import SimpleNamespace

import pytest
from my_workload_workshop import LABS, WORKLOAD

from workshop.course import catalogue, exercise_checks, source
from workshop.quiz import reader

LAB = LABS / "my-workload"


def test_it_estimates_pi():
    command = [sys.executable, "-m", "workshop.engine", WORKLOAD.name, "--steps", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["estimate"] == pytest.approx(math.pi, abs=0.02)


def test_lab_and_deck_have_no_problems():
    assert catalogue.problems(only=[LAB]) == []
    assert len(reader.read(LAB / reader.FILE, thorough=True).questions) == 3


def test_answers_are_judged():
    exercise = exercise_checks.load(LAB)["estimate"]
    alone = SimpleNamespace(
        rank=0, size=1, Get_rank=lambda: 0, Get_size=lambda: 1, allreduce=lambda value: value, allgather=lambda v: [v]
    )

    def judged(code):
        return exercise_checks.run_on_ranks(exercise, alone, exercise_checks.answer(code, exercise.id))

    (cell,) = [cell for cell in source.read(LAB / source.FILE) if cell.is_exercise]
    assert judged(cell.solved).right
    assert judged(cell.unsolved).kind == "empty"
    for mistake in exercise_checks.mistakes(LAB)["estimate"]:
        assert mistake.hint in judged(mistake.code).sentence, mistake.name
