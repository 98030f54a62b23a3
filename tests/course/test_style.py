"""Advice on a lab's questions."""

from __future__ import annotations

from typing import Any

from tests.course import style
from workshop.quiz.deck import Deck


def single(id: str, right: int, **fields: Any) -> dict[str, Any]:
    options = [{"text": f"option {place}", **({"right": True} if place == right else {})} for place in range(3)]
    return {"id": id, "type": "single", "text": "Which one?", "options": options, **fields}


def advice(*questions: dict[str, Any], **fields: Any) -> list[str]:
    deck = Deck.model_validate({"deck": "d", "title": "D", "lab": "d", "questions": questions, **fields})
    return list(style.of_deck(deck, ["Explain", "Goal"]))


def test_each_question_names_a_section_that_is_there() -> None:
    assert advice(single("a", 0, section="Explain")) == []
    assert "`section` should name" in advice(single("a", 0))[0]
    assert "has no section 'Elsewhere'" in advice(single("a", 0, section="Elsewhere"))[0]


def test_a_lab_asks_five_questions() -> None:
    questions = [single(f"q{number}", number % 3, section="Goal") for number in range(6)]
    assert "the lab asks 6 questions" in advice(*questions)[0]
    assert advice(*questions, short=["q0", "q4"]) == []


def test_right_answers_stand_at_different_places() -> None:
    questions = [single(f"q{number}", 1, section="Goal") for number in range(4)]
    assert "in 4 of 4 single choices the right answer is option 2" in advice(*questions)[0]
