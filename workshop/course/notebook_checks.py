"""Checks that every lab's notebook has a title, the sections in their order, and a limited length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from workshop.course.description import LabDescription
from workshop.course.source import FILE, SourceCell, SourceProblem, text_of

CELLS = 28  # at most
LEAST, MOST = 10 * 1024, 27 * 1024  # bytes
FIRST, LAST = ("Goal", "Words"), ("Quiz", "What to take home")
STEPS = ("Predict", "Run", "See", "Explain")

_HEADING = re.compile(r"(#{1,6})\s+(.*\S)\s*")
_CHECKED = re.compile(r"\blab\.check\(\s*[\"']([^\"']+)[\"']")
_PREDICTED = re.compile(r"\blab\.predict\(\s*[\"']([^\"']+)[\"']")
_QUIZ = re.compile(r"\.quiz\(\s*[\"']([^\"']+)[\"']")


def problems(cells: Sequence[SourceCell], lab: LabDescription) -> Iterator[SourceProblem]:
    """The faults of a notebook with these cells."""
    if len(cells) > CELLS:
        yield SourceProblem(cells[CELLS].line, f"there are {len(cells)} cells; a notebook has at most {CELLS}")
    if not cells or cells[0].kind != "markdown" or not cells[0].text.startswith("# "):
        yield SourceProblem(1, "the first cell should begin with the title: # ...")
    headings = list(_headings(cells))
    if headings and lab.title.lower() not in headings[0][1].lower():
        yield SourceProblem(headings[0][0], f"the title should have the words of lab.yaml: {lab.title}")
    yield from _order(headings[1:])
    yield from _steps(cells)
    yield from _exercises(cells, headings, lab)
    for cell in (cell for cell in cells if cell.kind == "markdown"):
        for line, text in enumerate(cell.text.split("\n"), cell.line):
            if text.count("$$") % 2:  # the dashboard shows the text of such a formula
                yield SourceProblem(line, "a formula between $$ should begin and end on one line")
    quizzes = {name: cell.line for cell in cells if cell.kind == "code" for name in _QUIZ.findall(cell.text)}
    described = {prediction.id for prediction in lab.predictions}
    guessed = {id: cell.line for cell in cells if cell.kind == "code" for id in _PREDICTED.findall(cell.text)}
    for id in guessed.keys() - described:
        yield SourceProblem(guessed[id], f"the prediction {id!r} should have its question in lab.yaml")
    for id in described - guessed.keys():
        yield SourceProblem(None, f'no cell asks for the prediction {id!r} of lab.yaml: lab.predict("{id}", ...)')
    if lab.deck not in quizzes:
        yield SourceProblem(None, f'no cell shows the quiz: session.quiz("{lab.deck}")')


def predicted(folder: Path) -> tuple[str, ...]:
    """The ids of the guesses in a lab's notebook, in order. Raises BadInput where the notebook can't be read."""
    return tuple(dict.fromkeys(_PREDICTED.findall(text_of(folder / FILE))))


def sections(cells: Sequence[SourceCell]) -> tuple[str, ...]:
    """The headings of a notebook, without its title."""
    return tuple(text for _, text in list(_headings(cells))[1:])


def solution(cells: Sequence[SourceCell], id: str) -> str:
    """The cell of an exercise with its solution; "" where no cell defines it."""
    cell = _defining(cells, id)
    return cell.solved if cell is not None else ""


def _defining(cells: Sequence[SourceCell], id: str) -> SourceCell | None:
    """The exercise's cell that defines the name `id`."""
    definition = re.compile(rf"^(def {id}\(|class {id}\b|{id}\s*[:=])", re.MULTILINE)
    return next((cell for cell in cells if cell.is_exercise and definition.search(cell.text)), None)


def size(number: int) -> Iterator[SourceProblem]:
    """Whether a learner's notebook of so many bytes is too short or too long."""
    if not LEAST <= number <= MOST:
        sentence = f"the notebook has {number / 1024:.1f} kB; it should have {LEAST // 1024} to {MOST // 1024}"
        yield SourceProblem(None, sentence)


def _headings(cells: Sequence[SourceCell]) -> Iterator[tuple[int, str]]:
    """Lines and words of all headings, blocks of code left out."""
    for cell in cells:
        if cell.kind != "markdown":
            continue
        in_code = False
        for number, line in enumerate(cell.text.split("\n"), cell.line):
            in_code ^= line.startswith("```")
            if not in_code and (match := _HEADING.fullmatch(line)):
                yield number, match[2]


def _order(headings: Sequence[tuple[int, str]]) -> Iterator[SourceProblem]:
    """Sections that are missing, or not where they belong."""
    texts = [text.strip("*_ ").lower() for _, text in headings]
    places = {}
    for name in (*FIRST, *LAST):
        places_of_name = [at for at, text in enumerate(texts) if text.startswith(name.lower())]
        if places_of_name:
            places[name] = places_of_name[0]
        else:
            yield SourceProblem(None, f"there is no section {name!r}")
    for before, after in pairwise(places):
        if places[before] > places[after]:
            yield SourceProblem(headings[places[after]][0], f"{after!r} should come after {before!r}")


def _steps(cells: Sequence[SourceCell]) -> Iterator[SourceProblem]:
    """Each experiment is predicted, run, seen and explained: as headings, or as the first words of a text."""
    text = "\n".join(cell.text for cell in cells if cell.kind == "markdown")
    for name in STEPS:
        if not re.search(rf"^#+ {name}\b|\*\*{name}\b", text, re.MULTILINE | re.IGNORECASE):
            yield SourceProblem(None, f"nothing begins with {name!r}, as a heading or in bold")


def _exercises(
    cells: Sequence[SourceCell], headings: Sequence[tuple[int, str]], lab: LabDescription
) -> Iterator[SourceProblem]:
    """Exercises that lab.yaml has and the notebook hasn't, and the other way round."""
    checked: dict[str, int] = {}
    for cell in cells:
        if cell.kind == "code":
            for id in _CHECKED.findall(cell.text):
                checked.setdefault(id, cell.line)
    for id in lab.exercises:
        if _defining(cells, id) is None:
            yield SourceProblem(None, f"no cell of an exercise defines {id}, which its check asks for")
        if id not in checked:
            yield SourceProblem(None, f'no cell checks the exercise {id!r}: lab.check("{id}", ...)')
    for id, line in checked.items():
        if id not in lab.exercises:
            yield SourceProblem(line, f"the exercise {id!r} is not in lab.yaml")
    exercise_count = sum(cell.is_exercise for cell in cells)
    if exercise_count != len(lab.exercises):
        yield SourceProblem(
            None, f"there are {exercise_count} cells of exercises, and lab.yaml has {len(lab.exercises)}"
        )
    titles = sum(bool(re.match(r"exercise\b", text, re.IGNORECASE)) for _, text in headings)
    if titles != exercise_count:
        yield SourceProblem(None, f"there are {titles} headings of exercises for {exercise_count} cells")
