"""The decks of all labs: they can be read, they teach, and their answers are those that their own code comes to."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workshop
from tests.labs import quiz_checks
from tests.quiz.asked import grade
from tests.support import limit
from workshop import registry
from workshop.core.placement import THREAD_VARIABLES
from workshop.quiz import expressions, reader, truth
from workshop.quiz.deck import Deck, ask
from workshop.quiz.parts import combinations
from workshop.quiz.rendering import plain
from workshop.quiz.text_input import normalised
from workshop.quiz.types import DrawnQuestion, Question
from workshop.quiz.types.choice import Choice, Multiple, Poll, Single
from workshop.quiz.types.match import Match, Order
from workshop.quiz.types.number import Number, Predict, Text, value_of
from workshop.quiz.types.place import Place

SURVEY = "survey"  # questions about the class, without right answers
DECKS = {name: path for name, path in reader.shipped().items() if name != SURVEY}
SEEDS = ("a", "b", "c", "d")  # of learners, for questions with numbers of their own


ENOUGH = 15  # questions of a deck

# The questions that the source documents ask their learners, by the lab that they belong to.
ASKED_BY_SOURCES = {
    "kmeans": ["initialise-finalise", "threads-or-processes", "who-reports", "inference", "no-oversubscription"],
    "mnist": [
        *("initialise-horovod", "why-adapt-the-steps", "adapt-the-steps", "two-ranks"),
    ],
    "recipe": [
        *("why-adapt-the-rate", "adapt-the-rate", "tell-rank-zero", "four-ranks", "why-four-can-be-faster"),
    ],
}


@cache
def deck(name: str) -> Deck:
    return reader.read(DECKS[name])


def questions(kind: type[Question]) -> list[Any]:
    """All questions of a type, of all decks: the names of both."""
    found = [(name, question) for name in DECKS for question in deck(name).questions if isinstance(question, kind)]
    return [pytest.param(name, question.id, id=f"{name}-{question.id}") for name, question in found]


each_deck = pytest.mark.parametrize("name", DECKS)


@each_deck
def test_a_deck_has_enough_questions_and_one_to_predict(name: str) -> None:
    judged = [question for question in deck(name).questions if not isinstance(question, Poll)]
    assert len(judged) >= ENOUGH
    assert any(isinstance(question, Predict) for question in judged)


@pytest.mark.parametrize("name", ["first", "failures", "placement"])
def test_decks_about_places_have_one_to_compose(name: str) -> None:
    assert any(isinstance(question, Place) for question in deck(name).questions)


def test_the_survey_has_no_right_answers() -> None:
    assert all(isinstance(question, Poll) for question in reader.read(reader.shipped()[SURVEY]).questions)


def test_a_question_is_in_one_deck_alone() -> None:
    texts = Counter(plain(question.text) for name in DECKS for question in deck(name).questions)
    assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("name", ASKED_BY_SOURCES)
def test_the_questions_of_the_sources_are_there_and_cite_them(name: str) -> None:
    there = {question.id: question for question in deck(name).questions}
    for id in ASKED_BY_SOURCES[name]:
        assert there[id].source and "from the sources" in there[id].tags, id


@each_deck
def test_a_question_teaches_whatever_the_answer_was(name: str) -> None:
    for question in deck(name).questions:
        assert plain(question.explanation), question.id
        assert question.tags, question.id
        if isinstance(question, Choice):
            silent = [option.text for option in question.options if not option.right and not plain(option.feedback)]
            assert not silent, question.id
        if isinstance(question, Number | Text | Place):
            assert question.near, question.id


@each_deck
def test_right_options_cannot_be_told_by_their_looks(name: str) -> None:
    singles = [question for question in deck(name).questions if isinstance(question, Single)]
    lengths = {question.id: [len(option.text) for option in question.options] for question in singles}
    longest = [q.id for q in singles if lengths[q.id][q.right[0]] > max(_others(lengths[q.id], q.right[0]))]
    shortest = [q.id for q in singles if lengths[q.id][q.right[0]] < min(_others(lengths[q.id], q.right[0]))]
    assert max(len(longest), len(shortest)) <= len(singles) / 2, (longest, shortest)
    # Where a projector shows the deck's order, the first one should not be it either.
    assert sum(question.right[0] == 0 for question in singles) <= len(singles) / 2


def _others(lengths: list[int], right: int) -> list[int]:
    return [length for place, length in enumerate(lengths) if place != right]


@pytest.mark.real
@each_deck
def test_the_answers_are_what_the_questions_code_comes_to(name: str) -> None:
    asked = [
        ask(deck(name), question, seed)
        for question in deck(name).questions
        if question.check
        for seed in (SEEDS if question.numbers else SEEDS[:1])
    ]
    cases = [{"code": one.question.check, "numbers": dict(one.numbers)} for one in asked]
    assert len({one.question.id for one in asked}) >= 5
    process = subprocess.run(
        [sys.executable, "-m", quiz_checks.__name__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=limit(300),
        cwd=Path(workshop.__file__).parents[1],
        env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},  # threads for so little work take longer
    )
    assert process.returncode == 0, process.stderr
    came = json.loads(process.stdout)
    assert not came["mpi"], "the code of a question has started MPI"
    for one, left in zip(asked, came["found"], strict=True):
        where = (one.question.id, dict(one.numbers))
        assert "error" not in left, (where, left["error"])
        assert agrees(one, left["answer"]), (where, left["answer"])


def agrees(asked: DrawnQuestion, left: Any) -> bool:
    """Whether what the code of a question left is the deck's answer: it counts as right."""
    question = asked.question

    def said(markdown: str) -> str:
        return " ".join(plain(markdown, asked.numbers).split())

    match question:
        case Number():
            return grade(asked, float(left)).right is True
        case Single() | Multiple():
            wanted = sorted(said(question.options[number].text) for number in question.right)
            return sorted(map(said, [left] if isinstance(left, str) else left)) == wanted
        case Order():
            return list(map(said, left)) == list(map(said, question.items))
        case Match():
            wanted = {said(pair.left): said(pair.right) for pair in question.pairs}
            return {said(key): said(value) for key, value in left.items()} == wanted
        case Text():
            return grade(asked, left).right is True
    raise AssertionError(f"{question.id}: code can't tell the answer of a question of type {question.type}")


@pytest.mark.parametrize(("name", "id"), questions(Number))
def test_a_number_is_right_alone_whatever_is_drawn(name: str, id: str) -> None:
    question = deck(name).question(id)
    for numbers in combinations(question.numbers):
        asked = replace(ask(deck(name), question, "seed"), numbers=numbers)
        assert grade(asked, value_of(question.answer, asked.numbers)).right, numbers
        for near in question.near:
            mark = grade(asked, value_of(near.answer, asked.numbers))
            assert mark.right is False, (numbers, near.answer)
            assert mark.feedback, (numbers, near.answer)


@pytest.mark.parametrize(("name", "id"), questions(Text))
def test_texts_that_are_near_are_not_right(name: str, id: str) -> None:
    question = deck(name).question(id)
    asked = ask(deck(name), question, "a")
    assert all(grade(asked, form).right for form in question.accept)
    for near in question.near:
        for form in near.accept:
            assert grade(asked, form).right is False, form
            assert grade(asked, form).feedback, form
    forms = [normalised(form) for form in [*question.accept, *(form for near in question.near for form in near.accept)]]
    assert [form for form, count in Counter(forms).items() if count > 1] == []


@pytest.mark.parametrize(("name", "id"), questions(Place))
def test_a_placement_is_right_alone(name: str, id: str) -> None:
    question = deck(name).question(id)
    asked = ask(deck(name), question, "a")
    assert grade(asked, dict(question.right)).right
    for near in question.near:
        mark = grade(asked, dict(near.placement))
        assert mark.right is False, near.placement
        assert mark.feedback


@pytest.mark.parametrize(("name", "id"), questions(Predict))
def test_what_has_to_be_predicted_can_be_run_and_is_told_by_the_runs(name: str, id: str) -> None:
    question = deck(name).question(id)
    wanted = truth.required_runs(question)
    assert list(wanted) == list(question.runs)
    named = list(members(expressions.parse(question.truth, question.runs)))
    assert {run for run, _ in named} == set(question.runs), "every run counts in the answer"
    for run, metric in named:
        assert metric in told(wanted[run].workload), metric


def members(node: ast.expr) -> Iterator[tuple[str, str]]:
    """What an expression asks of which run."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            yield inner.value.id, inner.attr


@cache
def told(workload: str) -> set[str]:
    """All words that stand as text in a workload's code, and in that of training: its metrics' names are among them."""
    package = Path(workshop.__file__).parent
    folder = registry.workload(workload).function.split(".")[2]
    files = [*(package / "workloads" / folder).rglob("*.py"), *(package / "engine" / "training").glob("*.py")]
    trees = [ast.parse(file.read_text()) for file in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {str(node.arg) for node in nodes if isinstance(node, ast.keyword)}
