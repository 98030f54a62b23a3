"""How decks look in a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from workshop.core import words
from workshop.quiz.deck import Deck, ask
from workshop.quiz.randomisation import written
from workshop.quiz.rendering import plain
from workshop.quiz.types import DrawnQuestion

WIDTH = 78


def without_answers(deck: Deck) -> dict[str, Any]:
    """A deck as a document from which nothing that is right can be told: its questions are as a browser gets them."""
    questions = [
        question.view(ask(deck, question, "show"), lambda picture: picture.file) for question in deck.questions
    ]
    return deck.model_dump(mode="json", exclude={"questions"}) | {"questions": questions}


def show_deck(deck: Deck, answers: bool) -> None:
    """A deck's questions, one below the other; what is right only where `answers` says so."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    lab = f", lab {deck.lab}" if deck.lab else ""
    out.print(Text(f"{deck.title} ({deck.deck}{lab})", style="bold"))
    for line in _wrapped(plain(deck.about), ""):
        out.print(line)
    for number, question in enumerate(deck.questions, 1):
        drawn_question = ask(deck, question, "show")
        about = [question.type, words.count(deck.seconds_of(question), "second")]
        if points := deck.points_of(question):
            about.insert(1, f"{points:g} point{'' if points == 1 else 's'}")
        out.print()
        out.print(Text(f"{number}. {question.id} ({', '.join(about)})", style="bold"))
        for line in _question(drawn_question, answers):
            out.print(line)


def _question(drawn_question: DrawnQuestion, answers: bool) -> Iterator[str]:
    question = drawn_question.question
    yield from _wrapped(plain(question.text, drawn_question.numbers), "   ")
    if question.picture is not None:
        yield from _wrapped(f"Picture {question.picture.file}: {question.picture.alt}", "   ")
    if drawn_question.numbers:
        numbers = ", ".join(f"{name} = {written(value)}" for name, value in drawn_question.numbers.items())
        yield from _wrapped(f"Numbers of each learner's own, here: {numbers}", "   ")
    for text, first, rest in question.lines(drawn_question, answers):
        yield from _wrapped(text, first, rest)
    if answers:
        if right := question.right_words(drawn_question):
            yield from _wrapped(f"Right: {right}", "   ")
        if question.explanation:
            yield from _wrapped(plain(question.explanation, drawn_question.numbers), "   ")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest)
