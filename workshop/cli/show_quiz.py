"""How decks look in a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.quiz.deck import Deck, Match, Number, Order, Place, Predict
from workshop.quiz.randomisation import LETTERS, DrawnQuestion, ask, written
from workshop.quiz.rendering import plain
from workshop.report import terminal

WIDTH = 78
_SECRET = {"explanation", "check", "answer", "tolerance", "near", "accept", "truth", "runs", "right"}


def decks_table(decks: Sequence[Deck]) -> Table:
    """A line for each deck."""
    rows = [(deck.deck, deck.lab, str(len(deck.questions)), deck.title) for deck in decks]
    return terminal.table(("deck", "lab", "questions", "title"), rows, right=("questions",))


def without_answers(deck: Deck) -> dict[str, Any]:
    """A deck as a document from which nothing that is right can be told: items and rights are mixed."""
    document = deck.model_dump(mode="json")
    for question, told in zip(deck.questions, document["questions"], strict=True):
        asked = ask(deck, question, "show")
        for name in _SECRET & set(told):
            del told[name]
        for option in told.get("options", ()):
            option.pop("right", None)
            option.pop("feedback", None)
        if isinstance(question, Order):
            told["items"] = [question.items[number] for number in asked.order]
        if isinstance(question, Match):
            told["lefts"] = [pair.left for pair in question.pairs]
            told["rights"] = [question.rights[number] for number in asked.order]
            del told["pairs"], told["extra"]
    return document


def show_deck(deck: Deck, answers: bool) -> None:
    """A deck's questions, one below the other; what is right only where `answers` says so."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    lab = f", lab {deck.lab}" if deck.lab else ""
    out.print(Text(f"{deck.title} ({deck.deck}{lab})", style="bold"))
    for line in _wrapped(plain(deck.about), ""):
        out.print(line)
    for number, question in enumerate(deck.questions, 1):
        asked = ask(deck, question, "show")
        about = [question.type, words.count(deck.seconds_of(question), "second")]
        if points := deck.points_of(question):
            about.insert(1, f"{points:g} point{'' if points == 1 else 's'}")
        out.print()
        out.print(Text(f"{number}. {question.id} ({', '.join(about)})", style="bold"))
        for line in _question(asked, answers):
            out.print(line)


def _question(asked: DrawnQuestion, answers: bool) -> Iterator[str]:
    question = asked.question
    yield from _wrapped(plain(question.text, asked.numbers), "   ")
    if question.picture is not None:
        yield from _wrapped(f"Picture {question.picture.file}: {question.picture.alt}", "   ")
    if asked.numbers:
        drawn = ", ".join(f"{name} = {written(value)}" for name, value in asked.numbers.items())
        yield from _wrapped(f"Numbers of each learner's own, here: {drawn}", "   ")
    if question.choices:
        for letter, option in zip(LETTERS, question.options, strict=False):
            mark = "*" if answers and getattr(option, "right", False) else " "
            yield from _wrapped(plain(option.text, asked.numbers), f" {mark} {letter}) ", "      ")
            if answers and getattr(option, "feedback", ""):
                yield from _wrapped(plain(option.feedback, asked.numbers), "      - ", "        ")
    elif isinstance(question, Order):
        places = range(len(question.items)) if answers else asked.order
        for place, number in enumerate(places, 1):
            mark = f"   {place}. " if answers else "   - "
            yield from _wrapped(plain(question.items[number], asked.numbers), mark, " " * len(mark))
    elif isinstance(question, Match):
        yield from _pairs(asked, question, answers)
    elif isinstance(question, Predict):
        for name, run in question.runs.items():
            given = {**run.params, **run.placement}
            settings = ", ".join(f"{key} = {value}" for key, value in given.items())
            yield from _wrapped(f"Run {name}: {run.workload}{f' with {settings}' if settings else ''}", "   ")
    elif isinstance(question, Place):
        yield from _wrapped(f"On {question.machine}; choose {words.listed(question.ask)}", "   ")
    if answers:
        if right := _right(asked):
            yield from _wrapped(f"Right: {right}", "   ")
        if question.explanation:
            yield from _wrapped(plain(question.explanation, asked.numbers), "   ")


def _pairs(asked: DrawnQuestion, question: Match, answers: bool) -> Iterator[str]:
    if answers:
        for pair in question.pairs:
            said = f"{plain(pair.left, asked.numbers)} -> {plain(pair.right, asked.numbers)}"
            yield from _wrapped(said, "   - ", "     ")
        for extra in question.extra:
            yield from _wrapped(f"{plain(extra, asked.numbers)} belongs to nothing", "   - ", "     ")
        return
    for number, pair in enumerate(question.pairs, 1):
        yield from _wrapped(plain(pair.left, asked.numbers), f"   {number}. ", "      ")
    for letter, number in zip(LETTERS, asked.order, strict=False):
        yield from _wrapped(plain(question.rights[number], asked.numbers), f"   {letter}) ", "      ")


def _right(asked: DrawnQuestion) -> str:
    """The right answer of a question without options, in words."""
    from workshop.quiz import expressions

    question = asked.question
    if isinstance(question, Number):
        answer = question.answer
        value = expressions.evaluate(answer, asked.numbers) if isinstance(answer, str) else answer
        off = question.tolerance.around(value)
        return f"{written(value)} {question.unit}".rstrip() + (f", by up to {written(off)} off" if off else "")
    if isinstance(question, Predict):
        return f"{question.truth}, measured"
    if isinstance(question, Place):
        return ", ".join(f"{name} = {value}" for name, value in question.right.items())
    return ", or ".join(getattr(question, "accept", ()))


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest)
