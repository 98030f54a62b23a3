"""What a lab's exercises are, as tests try them: checks, right and wrong answers, and names of earlier cells."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workshop.core import config
from workshop.course import exercise_checks, source
from workshop.course.exercise_checks import Exercise, Mistake

LABS = {path.parent.name: path.parent for path in sorted(config.labs_folder().glob(f"*/{source.FILE}"))}
LEFT_OUT = ("workshop", "sklearn")  # exercises need neither, and they take their time


@dataclass(frozen=True)
class Task:
    """An exercise of a lab. `names` are what the cells before its own leave behind."""

    exercise: Exercise
    cell: source.SourceCell  # with marks
    names: dict[str, Any]

    @property
    def solved(self) -> Any:
        return self.answer(self.cell.solved)

    @property
    def unsolved(self) -> Any:
        return self.answer(self.cell.unsolved)

    def answer(self, code: str) -> Any:
        """What this code defines in place of the exercise's cell."""
        return exercise_checks.answer(code, self.exercise.id, self.names)


def tasks(lab: str) -> Iterator[Task]:
    """The exercises of a lab, in the order of its notebook."""
    checks = exercise_checks.load(LABS[lab])
    names: dict[str, Any] = {}
    for cell in source.read(LABS[lab] / source.FILE):
        if cell.kind != "code":
            continue
        if not cell.is_exercise:
            names |= _imported(cell.text)
            continue
        for exercise in checks.values():
            given = exercise_checks.answer(cell.solved, exercise.id, names)
            if given is not exercise_checks.MISSING and exercise.id not in names:
                yield Task(exercise, cell, dict(names))
                names[exercise.id] = given


def _imported(text: str) -> dict[str, Any]:
    """The public libraries that a cell imports, by the names that it gives them."""
    lines = text.split("\n")
    python = "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)
    wanted = [node for node in ast.parse(python).body if isinstance(node, ast.Import | ast.ImportFrom)]
    found: dict[str, Any] = {}
    for node in wanted:
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if not any(module.partition(".")[0] in LEFT_OUT for module in modules):
            exec(compile(ast.Module([node], []), "<imports>", "exec"), found)
    found.pop("__builtins__", None)
    return found


def mistakes(lab: str, id: str) -> list[Mistake]:
    return list(exercise_checks.mistakes(LABS[lab])[id])


def main(output: str) -> None:
    """Under mpirun: what the checks that need ranks say of right, empty and wrong answers, by lab, exercise and the
    answer's name. Rank 0 writes it."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for lab in LABS:
        for task in tasks(lab):
            if not task.exercise.ranks:
                continue
            codes = {mistake.name: mistake.code for mistake in mistakes(lab, task.exercise.id)}
            answers = {"solved": task.cell.solved, "unsolved": task.cell.unsolved} | codes
            came = {
                name: exercise_checks.run_on_ranks(task.exercise, comm, task.answer(code))
                for name, code in answers.items()
            }
            found.setdefault(lab, {})[task.exercise.id] = {name: [one.kind, one.sentence] for name, one in came.items()}
    if comm.Get_rank() == 0:
        Path(output).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
