"""What docs/quizzes.md shows of decks can be used as it stands."""

from __future__ import annotations

import re

import pytest

from tests.labs import quiz_checks
from tests.quiz.asked import grade
from workshop.core import config
from workshop.quiz import reader, types
from workshop.quiz.deck import Deck, ask
from workshop.quiz.types.number import Number

TEXT = config.labs_folder().parent / "docs" / "quizzes.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", TEXT.read_text(), re.DOTALL | re.MULTILINE)
WHOLE = "deck: example\ntitle: Example\nquestions:\n"


def deck(block: str) -> Deck:
    """A block that is a deck, or the questions of one; its pictures are beside the text, and its placements are asked
    of the mapper."""
    text = block if block.startswith("deck:") else WHOLE + block
    return reader.parse(text, TEXT.name, TEXT.parent, thorough=True)


@pytest.mark.real
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: re.search(r"id: (\S+)", block)[1])
def test_an_example_is_a_deck_or_a_question_of_one(block: str) -> None:
    assert deck(block).questions


@pytest.mark.real
def test_every_type_of_question_has_an_example() -> None:
    assert {question.type for block in BLOCKS for question in deck(block).questions} == set(types.CLASSES)


@pytest.mark.real
def test_an_example_with_code_is_right() -> None:
    found = [(of, question) for of in map(deck, BLOCKS) for question in of.questions if question.check]
    assert found
    for of, question in found:
        assert isinstance(question, Number)
        for seed in "abc":
            asked = ask(of, question, seed)
            left = quiz_checks.leave(question.check, dict(asked.numbers))
            assert grade(asked, left["answer"]).right, (asked.numbers, left)
