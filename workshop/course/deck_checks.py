"""Checks of a lab's questions: each is taught, right answers stand at different places, and its sentences are plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from workshop.core import words
from workshop.course import readability
from workshop.quiz.deck import Deck
from workshop.quiz.types.single import Single

SHORT = 5  # questions that a lab asks
FEW = 4  # single choices, below which their places don't matter
SHARE = 0.5  # of the single choices that may have the right answer at one place


def advice(deck: Deck, sections: Sequence[str]) -> Iterator[str]:
    """Advise the author of a deck; the notebook of its lab has these `sections`."""
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
