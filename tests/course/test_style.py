"""Advice on a lab's questions, sentences and duration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.course import style
from workshop.course import source
from workshop.quiz.deck import Deck

STYLE = Path(__file__).parents[2] / "docs" / "style.md"


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


def test_hard_sentences_are_found_at_their_lines() -> None:
    long = "A rank " + "and another rank " * 12 + "wait."
    for sentence in (
        "What differs is the shard.",
        "Never does it end by itself.",
        "Behind the door stands a rank.",
        long,
    ):
        assert next(iter(style.hard_sentences(f"A rank computes.\n\n{sentence}\n")))[0] == 2
    words = "x " * 60
    code = f"```python\n{words}\n```\n\n| {words}|\n\n    {words}\n\nIt is ${words}$. What is the sum of all ranks?"
    assert not list(style.hard_sentences(code)), "code, tables and formulas are no prose, and a question may begin so"


def test_the_right_column_of_the_style_page_is_plain() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", STYLE.read_text(), re.MULTILINE)[1:]
    assert len(rows) >= 20
    for _, after in rows:
        assert not list(style.hard_sentences(after)), after


def test_runs_and_predictions_take_time_and_extras_are_no_part_of_the_core() -> None:
    def estimate(text: str) -> float:
        return style.estimate(source.parse(text), None)

    words = "# Lab\n\n" + "word " * 2 * style.READING
    assert 2 <= estimate(words) < 2.1
    run = estimate(words + '\n\n```python\nlab.predict("a", 1)\nsession.run("kmeans")\n```\n') - estimate(words)
    assert abs(run - (2 * style.LINE + style.PREDICTION + style.RUN)) < 1e-9
    extra = "\n## Exercise 3 (extra): more\n\n" + "word " * 500 + "\n\n```python\nx = 1\n```\n"
    assert abs(estimate(words + extra) - estimate(words)) < 1e-9
