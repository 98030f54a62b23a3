"""What is written, as Moodle expects it."""

from __future__ import annotations

from typing import Any

import pytest

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.gift.writer import write

SINGLE = {
    "type": "single",
    "text": "Is `a=b` ~ $x_1$?",
    "options": [{"text": "{yes}", "right": True, "feedback": "#1: so"}, {"text": "50%"}],
}
MULTIPLE = {
    "type": "multiple",
    "text": "Which?",
    "options": [
        {"text": "a", "right": True},
        {"text": "b", "right": True},
        {"text": "c", "right": True},
        {"text": "d"},
    ],
}
NUMBER = {
    "type": "number",
    "text": "{ranks} ranks, `{ranks}` in code, $2^{ranks}$",
    "answer": "ranks * 2",
    "numbers": {"ranks": {"values": [4]}},
    "tolerance": {"relative": 0.1},
    "unit": "MB/s",
    "near": [{"answer": "ranks", "feedback": "Twice."}],
}


def deck(*questions: dict[str, Any]) -> Deck:
    named = [{"id": f"q-{number}", **question} for number, question in enumerate(questions, 1)]
    return Deck.model_validate({"deck": "one", "title": "One", "questions": named})


def test_questions_and_losses() -> None:
    data, losses = write(deck(SINGLE, MULTIPLE, NUMBER))
    single, multiple, number = data.decode().split("\n\n")[1:]
    assert single.startswith(r"::q-1::[markdown]Is `a\=b` \~ \\\\(x\\_1\\\\)?{")
    assert "\t=[markdown]\\{yes\\}#[markdown]\\#1\\: so\n" in single and "\t~[markdown]50%\n" in single
    assert multiple.count("~%33.33333%") == 3 and "~%-33.33333%[markdown]d" in multiple and "=" not in multiple
    assert r"4 ranks, `\{ranks\}` in code, \\\\(2^\\\{4\\\}\\\\)" in number
    assert "=%100%8:0.8" in number and "=%0%4:0.4#[markdown]Twice." in number
    assert [(one.question, one.part) for one in losses] == [("", "deck"), ("q-3", "numbers"), ("q-3", "unit")]


@pytest.mark.parametrize(
    ("answer", "tolerance", "written"),
    [
        (5e-5, {"relative": 0.1}, ("0.00005", "0.000005")),
        (-0.0, {"absolute": 0}, ("0", "0")),
        (6.02e23, {"absolute": 0.5}, ("602000000000000000000000", "0.5")),
    ],
)
def test_numbers_have_no_exponent_which_readers_may_not_know(
    answer: float, tolerance: dict[str, float], written: tuple[str, str]
) -> None:
    question = {"type": "number", "text": "How much?", "answer": answer, "tolerance": tolerance}
    assert f"\t=%100%{':'.join(written)}\n" in write(deck(question))[0].decode()


def test_nothing_that_can_be_carried_is_an_error() -> None:
    poll = {"type": "poll", "text": "What now?", "options": [{"text": "a"}, {"text": "b"}]}
    with pytest.raises(BadInput, match="one has no question that GIFT can carry; it holds a poll"):
        write(deck(poll))
