"""Advice for the author of a lab: on its drawings, duration, hints, questions and sentences. See docs/style.md.

.venv/bin/python -m tests.course.style mnist
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from workshop.core import words
from workshop.course import catalogue, description, exercise_checks, notebook, source
from workshop.course.source import SourceCell, SourceProblem
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.types.choice import Single

RUNSHEET = "runsheet.md"
DRAWINGS = 3  # of a notebook, at least
DESCRIPTION = 4  # words of a drawing's description, at least
CORE = 2  # exercises that are no extras, at most
SHORT = 5  # questions that a lab asks
FEW = 4  # single choices, below which their places don't matter
SHARE = 0.5  # of the single choices that may have the right answer at one place

_DRAWING = re.compile(r"!\[([^\]]*)\]\([^)]+\)")
READING = 160  # words a minute, of somebody who learned English at school and meets the terms for the first time
# Minutes of somebody who does it for the first time.
LINE, PREDICTION, RUN, EXERCISE = 0.08, 0.75, 0.6, 6.0
EXTRA = "(extra)"  # in a heading: the section is no part of the core
SPREAD = 0.3  # share by which people are faster or slower than the estimate
_HEADING = re.compile(r"^## +(.*\S)", re.MULTILINE)
_RUNS = re.compile(r"\bsession\.(?:run|study|tune)\(|^%%ranks", re.MULTILINE)
_PREDICTED = re.compile(r"\blab\.predict\(")
LONGEST = 30  # words of a sentence
MEAN = 17.0  # words of a sentence, over a whole text
# What a pattern matches, and what to write instead; docs/style.md has a pair for each, before and after.
PATTERNS = (
    (r"\b(?:that|those) (?:of|in|on|with|from) (?:it|them|which)\b", "name the thing instead of `that of it`"),
    (r"^(?:What|Who|Whoever|Where|Whatever) [a-z' ]+ (?:is|are|has|have|was|were|does|do|gets|takes)\b(?![^?]*\?)",
     "name the subject instead of beginning with a clause"),
    (r"^(?:Nor|Neither|So|Only|Not|Never|Hardly|Seldom) (?:is|are|was|were|has|have|does|do|did|can|could|will)\b",
     "put the subject before the verb"),
    (r"^(?:In|On|Behind|Beside|Below|Above|Between) [a-z ]+ (?:stands?|stood|lies?|lay|comes?|came|sits?)\b",
     "put the subject before the verb"),
    (r"\bnothing but\b|\bnone but\b|\ball but\b", "say it without `but`"),
    (r"\bwho(?:ever)? (?:has|is|does|wants|needs) [a-z ]+ (?:has|is|gets|takes|needs)\b", "say `a learner who ...`"),
    (r"\bthe (?:one|other) (?:is|has|does)\b", "name the thing instead of `the one`"),
    (r"\bmeanwhile\b|\bthereby\b|\bwherein\b|\bthereof\b|\bhence\b|\bhitherto\b", "use a common word"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.MULTILINE), instead) for pattern, instead in PATTERNS]
_CODE = re.compile(
    r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1\s*$|\Z)|^(?: {4}|\|).*$|`[^`\n]+`|\$[^$]+\$|!?\[([^\]]*)\]\([^)]*\)"
)
_SENTENCE = re.compile(r"[^.!?:;]+(?:[.!?:;]+(?=\s|$)|$)")


def advice(folder: Path) -> list[str]:
    """A sentence with the file for each improvement of a lab. Raises BadInput where the lab can't be read."""
    lab, path, runsheet = description.read(folder), folder / source.FILE, folder / RUNSHEET
    cells = source.read(path)
    deck_path = folder.parent / lab.deck / reader.FILE
    deck = reader.read(deck_path if deck_path.is_file() else reader.shipped()[lab.deck])
    sections = [*notebook.sections(cells)]
    sections += [section for path in source.further(folder) for section in notebook.sections(source.read(path))]
    improvements = [*_notebook(cells), *_minutes(lab.minutes, estimate(cells, deck))]
    sentences = [source.worded(str(path), improvement) for improvement in improvements]
    sentences += [f"{deck_path}: {text}" for text in of_deck(deck, sections)]
    sentences += _exercises(folder)
    prose = hard_sentences(source.text_of(runsheet))
    return sentences + [source.worded(str(runsheet), SourceProblem(line + 1, text)) for line, text in prose]


def _notebook(cells: Sequence[SourceCell]) -> Iterator[SourceProblem]:
    drawings = 0
    for cell in (cell for cell in cells if cell.kind == "markdown"):
        for match in _DRAWING.finditer(cell.text):
            drawings += 1
            if len(match[1].split()) < DESCRIPTION:
                line = cell.line + cell.text.count("\n", 0, match.start())
                yield SourceProblem(line, "the drawing needs a description: ![what it shows](labs/LAB/FILE.svg)")
        for line, text in hard_sentences(cell.text):
            yield SourceProblem(cell.line + line, text)
    if drawings < DRAWINGS:
        yield SourceProblem(None, f"it has {words.count(drawings, 'drawing')}; a notebook has at least {DRAWINGS}")
    exercises = [text for text in notebook.sections(cells) if re.match(r"exercise\b", text, re.IGNORECASE)]
    core = sum(EXTRA not in text for text in exercises)
    if core > CORE:
        sentence = f"{core} exercises belong to the core; mark all but {CORE}: ## Exercise 3 {EXTRA}: ..."
        yield SourceProblem(None, sentence)


def _exercises(folder: Path) -> Iterator[str]:
    for id, exercise in exercise_checks.load(folder).items():
        if not (exercise.hint and exercise.reason):
            path = folder / exercise_checks.CHECKS
            yield f'{path}: add a hint and the reason of the solution: @exercise("{id}", hint="…", reason="…")'


def _minutes(minutes: int, estimate: float) -> Iterator[SourceProblem]:
    if not (1 - SPREAD) * estimate <= minutes <= (1 + SPREAD) * estimate:
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
        for _, text in hard_sentences(f"{question.text}\n\n{question.explanation}"):
            yield f"question {question.id}: {text}"
    places = Counter(question.right[0] for question in deck.questions if isinstance(question, Single))
    for place, count in places.items():
        if places.total() >= FEW and count > SHARE * places.total():
            questions = words.count(places.total(), "single choice")
            yield f"in {count} of {questions} the right answer is option {place + 1}; spread the right answers"


def estimate(cells: Sequence[SourceCell], deck: Deck | None) -> float:
    """The minutes that the core of a lab takes, its quiz of `deck` included."""
    minutes = sum(deck.seconds_of(question) for question in deck.brief().questions) / 60 if deck else 0.0
    return minutes + sum(_cell_minutes(cell, text) for cell, text in _core(cells))


def _core(cells: Sequence[SourceCell]) -> Iterator[tuple[SourceCell, str]]:
    """The texts of the sections that are no extras."""
    is_extra = False
    for cell in cells:
        if cell.kind == "code":
            if not is_extra:
                yield cell, cell.text
            continue
        pieces = _HEADING.split(cell.text)
        for heading, text in zip(["", *pieces[1::2]], pieces[::2], strict=True):
            is_extra = EXTRA in heading if heading else is_extra
            if not is_extra:
                yield cell, f"{heading} {text}"


def _cell_minutes(cell: SourceCell, text: str) -> float:
    if cell.kind == "markdown":
        return len(text.split()) / READING
    if cell.is_exercise:
        return EXERCISE
    lines = sum(bool(line.strip()) for line in text.splitlines())
    return LINE * lines + PREDICTION * len(_PREDICTED.findall(text)) + RUN * len(_RUNS.findall(text))


def hard_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The hard sentences of a Markdown text: the line, from 0, and what is hard about the sentence."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]) if not code[2] else code[2], text)
    lengths = []
    for line, sentence in _sentences(prose):
        words = len(re.findall(r"[\w'’%-]+", sentence))
        lengths.append(words)
        if words > LONGEST:
            yield line, f"a sentence has {words} words, more than {LONGEST}: {_quoted(sentence)}"
        for pattern, instead in _PATTERNS:
            if pattern.search(sentence):
                yield line, f"{instead}: {_quoted(sentence)}"
    if lengths and (mean := sum(lengths) / len(lengths)) > MEAN:
        yield 0, f"the sentences have {mean:.1f} words on average, more than {MEAN:g}"


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Sentences on one line each, with the line on which each begins. Headings and list items end a sentence."""
    blocks = re.split(r"(\n\s*\n|\n(?=\s*(?:[-*#>]|\d+\.)\s))", prose)
    line = 0
    for block in blocks:
        for match in _SENTENCE.finditer(block):
            sentence = " ".join(match[0].split()).lstrip("-*#> ")
            if sentence:
                leading = len(match[0]) - len(match[0].lstrip())
                yield line + block.count("\n", 0, match.start() + leading), sentence
        line += block.count("\n")


def _quoted(sentence: str) -> str:
    return repr(sentence if len(sentence) <= 80 else sentence[:79] + "…")


if __name__ == "__main__":
    for name in sys.argv[1:] or [folder.name for folder in catalogue.folders()]:
        print(*advice(catalogue.find(name)), sep="\n")
