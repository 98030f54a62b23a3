"""Decks that are written and read again: equal, but for what was told to be lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings

from tests.quiz.decks import decks
from tests.quiz.formats.carried import there_and_back
from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import gift, markup, write
from workshop.quiz.formats.html_tree import parse, shape
from workshop.quiz.reader import read, shipped
from workshop.registry import formats

CARRIED = {
    "gift": {"single", "multiple", "number", "match", "text"},
    "moodle": {"single", "multiple", "number", "match", "text", "order"},
    "qti": {"single", "multiple", "number", "match", "text", "order", "poll"},
    "aiken": {"single"},
}
EMPTY_CODE = {"type": "number", "text": "How many?\n\n```\n```", "answer": 1}
NEAR = [{"accept": ["there"], "feedback": "-> here"}]
ARROW = {"type": "text", "text": "Which way?", "accept": ["back"], "near": NEAR}
FILES = {"gift": "deck.gift", "moodle": "deck.xml", "qti": "deck.zip", "aiken": "deck.txt"}


@pytest.mark.parametrize("format", CARRIED)
@given(deck=decks(most=2))
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@example(deck=Deck.model_validate({"deck": "a", "title": "a", "questions": [{**ARROW, "id": "a"}]}))
def test_a_deck_comes_back_without_what_was_lost(tmp_path: Path, format: str, deck: Deck) -> None:
    if not any(question.type in CARRIED[format] for question in deck.questions):
        with pytest.raises(BadInput, match=r"has no question that .* can carry"):
            write(deck, format)
        return
    left_out = {one.question for one in write(deck, format).lost if one.part == "question"}
    assume(any(question.id not in left_out for question in deck.questions))
    _, lost = there_and_back(deck, format, tmp_path / FILES[format])
    for question in deck.questions:
        if question.type not in CARRIED[format]:
            assert "question" in lost[question.id]


@given(deck=decks(("single",), most=2))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_tilde_before_right_answers_of_gift_changes_nothing(deck: Deck) -> None:
    data = write(deck, "gift").data
    assert data.count(b"\n\t=") == len(deck.questions)
    assert gift.read(data.replace(b"\n\t=", b"\n\t~="), "a.gift") == gift.read(data, "a.gift")


@given(deck=decks(("single", "multiple", "number", "text"), most=2))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@example(deck=Deck.model_validate({"deck": "a", "title": "a", "questions": [{**EMPTY_CODE, "id": "a"}]}))
def test_jupyterquiz_has_nothing_in_its_texts_that_its_script_would_change(deck: Deck) -> None:
    data = write(deck, "jupyterquiz").data
    assert data.isascii() and b"<" not in data
    made = json.loads(data)
    for question, one in zip(deck.questions, made, strict=True):
        texts = [one["question"], *(answer.get("feedback", "") for answer in one["answers"])]
        if hasattr(question, "options"):
            texts += [answer["answer"] for answer in one["answers"]]
        assert not [text for text in texts if re.search(r"\$|<http|\[.*?\]\(", text)]
        whole = one["question"] + (f"<pre>{one['code']}</pre>" if "code" in one else "")
        if not question.numbers:
            assert shape(parse(whole)[0]) == shape(parse(markup.html(question.text).replace("\n</code>", "</code>"))[0])


@pytest.mark.parametrize("format", CARRIED)
def test_the_labs_decks_come_back(tmp_path: Path, format: str) -> None:
    assert shipped()
    for path in shipped().values():
        deck = read(path)
        _, lost = there_and_back(deck, format, tmp_path / FILES[format])
        left_out = {question for question, parts in lost.items() if "question" in parts}
        never = {question.id for question in deck.questions if question.type not in CARRIED[format]}
        assert never <= left_out
        if format in ("moodle", "qti"):
            assert left_out == never


def test_what_is_written_is_the_same_each_time() -> None:
    deck = read(shipped()["kmeans"])
    for format in formats():
        assert write(deck, format) == write(deck, format)
