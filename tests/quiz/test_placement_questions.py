"""Questions of placement, judged by Open MPI's own mapper."""

from __future__ import annotations

from typing import Any

import pytest

from tests.quiz import markup
from tests.quiz.asked import answer, grade, solution
from workshop.core.errors import WorkshopError
from workshop.quiz.deck import Deck, ask
from workshop.quiz.types import Mark, place
from workshop.quiz.types.place import Place

QUESTION = {
    "id": "q",
    "type": "place",
    "text": "One rank on each package, bound to it.",
    "given": {"ranks": 2},
    "ask": ["map_by", "per_resource", "bind_to", "threads"],
    "right": {"map_by": "package", "per_resource": 1, "bind_to": "package"},
    "near": [{"placement": {"map_by": "core", "bind_to": "core"}, "feedback": "Both are on the *first* package."}],
}


def deck(**more: Any) -> Deck:
    return Deck.model_validate({"deck": "d", "title": "t", "questions": [{**QUESTION, **more}]})


def judged(raw: dict[str, Any], **more: Any) -> Mark:
    one = ask(made := deck(**more), made.questions[0], "s")
    mark = grade(one, answer(one, raw))
    assert [said for said in mark.feedback if markup.wrong(said)] == []
    return mark


def told(mark: Mark) -> str:
    return " ".join(map(markup.text, mark.feedback))


@pytest.mark.real
def test_right_is_whatever_puts_the_ranks_there() -> None:
    assert judged({"map_by": "package", "per_resource": 1, "bind_to": "package"}) == Mark(1.0, True)
    assert judged({"map_by": "numa", "per_resource": 1, "bind_to": "numa"}) == Mark(1.0, True), "a NUMA node each"


@pytest.mark.real
def test_a_different_placement_is_told_rank_by_rank() -> None:
    mark = judged({"map_by": "package", "per_resource": 1, "bind_to": "core"})
    assert (mark.share, mark.right) == (0.0, False)
    assert told(mark) == (
        "Rank 0 was meant for cores 0 to 3, could run on core 0. "
        "Rank 1 was meant for cores 4 to 7, could run on core 4."
    )
    many = {"given": {"ranks": 12}, "ask": ["map_by"], "machine": "2x8", "right": {"map_by": "package"}, "near": []}
    mark = judged({"map_by": "core"}, **many)
    assert "could run on core 6" in told(mark) and told(mark).endswith("So it is with 2 more ranks.")
    assert " ran " not in told(mark), "nothing has run"


@pytest.mark.real
def test_a_near_placement_has_feedback_of_its_own() -> None:
    assert judged({"map_by": "hwthread", "per_resource": 1, "bind_to": "core"}).right is False
    near = judged({"map_by": "core", "bind_to": "core"})
    assert near.feedback[0] == "<p>Both are on the <em>first</em> package.</p>"
    threads = judged({"map_by": "package", "per_resource": 1, "bind_to": "package", "threads": 4})
    assert told(threads) == "Each rank has 4 threads, where 1 was asked for."


@pytest.mark.real
def test_a_refused_placement_is_told_in_the_mappers_words() -> None:
    mark = judged({"ranks": 9}, given={"bind_to": "core"}, ask=["ranks"], machine="1x4", right={"ranks": 4}, near=[])
    assert mark.right is False
    assert told(mark).startswith("Open MPI refuses this placement, in its own words:") and "failed to map" in told(mark)


@pytest.mark.real
def test_the_mapper_is_asked_once_for_the_same_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = place.mapper.predict
    place._predict.cache_clear()
    monkeypatch.setattr(place.mapper, "predict", lambda p, d: asked.append(p.describe()) or real(p, d))
    for _ in range(2):
        assert judged({"map_by": "package", "per_resource": 1, "bind_to": "package"}).right
        assert not judged({"map_by": "package", "per_resource": 1, "bind_to": "core"}).right
    assert len(asked) == len(set(asked)) == 3, "what is right, the wrong one, and the near one"


@pytest.mark.real
def test_solution_and_problems() -> None:
    question = deck().questions[0]
    assert isinstance(question, Place)
    later = solution(ask(deck(), question, "s"))
    assert later["command"] == "mpirun -n 2 --map-by ppr:1:package --bind-to package"
    assert later["placement"] == QUESTION["right"] and later["command"] in markup.text(later["html"])
    with_threads = deck(right={"map_by": "core", "threads": 2}, near=[]).questions[0]
    assert place.command(with_threads, with_threads.right).endswith(" -x OMP_NUM_THREADS=2")
    assert list(question.slow_problems()) == []
    same = deck(near=[{"placement": {"map_by": "numa", "per_resource": 1, "bind_to": "numa"}, "feedback": "x"}])
    assert list(same.questions[0].slow_problems()) == [
        (("near", 0, "placement"), "it puts the ranks where right does, so it counts as right")
    ]
    untouched = deck(right={"map_by": "core", "bind_to": "core"}, near=[]).questions[0]
    assert list(untouched.slow_problems()) == [
        (("right",), "it puts the ranks where they are if nobody chooses anything; it should take a choice")
    ]
    refused = deck(given={"ranks": 9}, right={"map_by": "package", "per_resource": 1}, near=[]).questions[0]
    ((path, text),) = refused.slow_problems()
    assert path == ("right",) and text.startswith("Open MPI refuses it: ")
    with pytest.raises(WorkshopError, match="The mapper gives no map for what is right in q"):
        refused.grade(ask(deck(), refused, "s"), {"map_by": "core"})


@pytest.mark.real
def test_another_number_of_ranks_is_told_as_such() -> None:
    mark = judged({"ranks": 3}, given={}, ask=["ranks"], right={"ranks": 1}, near=[])
    assert mark == Mark(0.0, False, ("<p>There are 3 ranks, where 1 was asked for.</p>",))
