"""How a class's answers are spread, as charts show it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.quiz.asked import answer as read
from tests.quiz.asked import grade, raw
from tests.quiz.nine import YAML
from workshop.quiz import reader
from workshop.quiz.deck import ask
from workshop.quiz.results.answers import distribution
from workshop.quiz.types import DrawnQuestion

DECK = reader.parse(YAML, "nine.yaml")


def of(kind: str, seed: str = "seed") -> DrawnQuestion:
    return ask(DECK, next(one for one in DECK.questions if one.type == kind), seed)


@given(st.text(max_size=5), st.lists(st.integers(0, 1), max_size=30))
def test_choices_are_counted_where_they_are_shown(seed: str, answers: list[int]) -> None:
    asked = of("single", seed)
    found = distribution(asked, answers)
    assert [option["key"] for option in found["options"]] == list(asked.keys)
    assert all(option["right"] is None for option in found["options"])
    for option in found["options"]:
        assert option["count"] == answers.count(read(asked, option["key"]))
    due = distribution(asked, answers, lambda answer: None)
    for option in due["options"]:
        assert option["right"] == grade(asked, read(asked, option["key"])).right


def test_of_several_each_is_counted_and_nothing_in_a_poll_is_right() -> None:
    asked = of("multiple")
    counts = {option["key"]: option["count"] for option in distribution(asked, [[0, 1], [1]])["options"]}
    assert (counts[asked.key(0)], counts[asked.key(1)]) == (1, 2)
    poll = distribution(of("poll"), [0, 0, 1], lambda answer: None)
    assert [option["right"] for option in poll["options"]] == [None] * len(poll["options"])


@given(st.lists(st.floats(-1e6, 1e6), max_size=1200))
def test_numbers_are_sorted_and_not_too_many(values: list[float]) -> None:
    found = distribution(of("number"), values)["values"]
    assert found == sorted(found)
    assert len(found) == min(len(values), 500)
    if values:
        assert (found[0], found[-1]) == (min(values), max(values))


def test_words_that_mean_the_same_are_one() -> None:
    right: dict[str, bool] = {"halo": True}
    found = distribution(
        of("text"), ["Halo", " halo", "ghost"], lambda answer: right.get(answer.strip().lower(), False)
    )
    assert found["answers"] == [
        {"text": "halo", "count": 2, "right": True},
        {"text": "ghost", "count": 1, "right": False},
    ]
    many = distribution(of("text"), [f"word {number}" for number in range(40)])
    assert len(many["answers"]) == 12


def test_orders_matches_and_placements_are_told_in_a_line() -> None:
    for kind, answer in (("order", None), ("match", None)):
        asked = of(kind)
        answer = list(range(len(asked.order)))[: len(asked.question.items if kind == "order" else asked.question.pairs)]
        (found,) = distribution(asked, [answer, answer])["answers"]
        assert found["count"] == 2
        assert found["right"] is None
        assert json.dumps(raw(asked, answer)) != found["text"]
    place = of("place")
    given_: dict[str, Any] = dict(place.question.right)
    (line,) = distribution(place, [given_])["answers"]
    assert all(name in line["text"] for name in given_)
