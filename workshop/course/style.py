"""Advice for the author of a lab: on its drawings, duration, hints, questions and sentences. See docs/style.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from workshop.core import words
from workshop.course import description, duration, exercise_checks, notebook_checks, readability, source
from workshop.course.source import SourceCell, SourceProblem
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.types.single import Single

RUNSHEET = "runsheet.md"
DRAWINGS = 3  # of a notebook, at least
DESCRIPTION = 4  # words of a drawing's description, at least
CORE = 2  # exercises that are no extras, at most
SHORT = 5  # questions that a lab asks
FEW = 4  # single choices, below which their places don't matter
SHARE = 0.5  # of the single choices that may have the right answer at one place

_DRAWING = re.compile(r"!\[([^\]]*)\]\([^)]+\)")


def advice(folder: Path) -> list[str]:
    """A sentence with the file for each improvement of a lab. Raises BadInput where the lab can't be read."""
    lab, path, runsheet = description.read(folder), folder / source.FILE, folder / RUNSHEET
    cells = source.read(path)
    deck_path = folder.parent / lab.deck / reader.FILE
    deck = reader.read(deck_path if deck_path.is_file() else reader.shipped()[lab.deck])
    improvements = [*_notebook(cells), *_minutes(lab.minutes, duration.estimate(cells, deck))]
    sentences = [source.worded(str(path), improvement) for improvement in improvements]
    sentences += [f"{deck_path}: {text}" for text in of_deck(deck, notebook_checks.sections(cells))]
    sentences += _exercises(folder)
    prose = readability.problems(source.text_of(runsheet))
    return sentences + [source.worded(str(runsheet), SourceProblem(line + 1, text)) for line, text in prose]


def _notebook(cells: Sequence[SourceCell]) -> Iterator[SourceProblem]:
    drawings = 0
    for cell in (cell for cell in cells if cell.kind == "markdown"):
        for match in _DRAWING.finditer(cell.text):
            drawings += 1
            if len(match[1].split()) < DESCRIPTION:
                line = cell.line + cell.text.count("\n", 0, match.start())
                yield SourceProblem(line, "the drawing needs a description: ![what it shows](labs/LAB/FILE.svg)")
        for line, text in readability.problems(cell.text):
            yield SourceProblem(cell.line + line, text)
    if drawings < DRAWINGS:
        yield SourceProblem(None, f"there are {drawings} drawings; a notebook has at least {DRAWINGS}")
    exercises = [text for text in notebook_checks.sections(cells) if re.match(r"exercise\b", text, re.IGNORECASE)]
    core = sum(duration.EXTRA not in text for text in exercises)
    if core > CORE:
        sentence = f"{core} exercises belong to the core; mark all but {CORE}: ## Exercise 3 {duration.EXTRA}: ..."
        yield SourceProblem(None, sentence)


def _exercises(folder: Path) -> Iterator[str]:
    for id, exercise in exercise_checks.load(folder).items():
        if not (exercise.hint and exercise.reason):
            path = folder / exercise_checks.CHECKS
            yield f'{path}: add a hint and the reason of the solution: @exercise("{id}", hint="…", reason="…")'


def _minutes(minutes: int, estimate: float) -> Iterator[SourceProblem]:
    if not (1 - duration.SPREAD) * estimate <= minutes <= (1 + duration.SPREAD) * estimate:
        sentence = f"the core takes about {estimate:.0f} minutes, and {description.FILE} says {minutes}"
        yield SourceProblem(None, sentence)


def of_deck(deck: Deck, sections: Sequence[str]) -> Iterator[str]:
    """Advice on the deck of a lab whose notebook has these `sections`."""
    if len(deck.brief().questions) > SHORT:
        yield f"the lab asks {len(deck.brief().questions)} questions; name {SHORT} of them in `short`"
    for question in deck.questions:
        if question.section and question.section not in sections:
            yield f"question {question.id}: the notebook has no section {question.section!r}"
        elif question.marked and not question.section:
            yield f"question {question.id}: `section` should name the section of the notebook that teaches it"
        for _, text in readability.problems(f"{question.text}\n\n{question.explanation}"):
            yield f"question {question.id}: {text}"
    places = Counter(question.right[0] for question in deck.questions if isinstance(question, Single))
    for place, count in places.items():
        if places.total() >= FEW and count > SHARE * places.total():
            questions = words.count(places.total(), "single choice")
            yield f"in {count} of {questions} the right answer is option {place + 1}; spread the right answers"
