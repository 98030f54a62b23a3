"""Learning alone: what is kept, what is told when, and predictions that are checked against one's own runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.quiz.nine import DECK, IDS, right
from tests.web import seed
from workshop.core.errors import BadInput
from workshop.quiz import self_study
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import QuizLearner, SelfStudy
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web import auth

NOW = tuple(id for id in IDS if id != "how-long")  # those that are judged at once


def no_picture(*_: object) -> str:
    raise AssertionError("there is no picture")


def view(mine: SelfStudy, id: str) -> dict[str, Any]:
    return mine.view(id, no_picture)


def answer(mine: SelfStudy, id: str, wrong: bool = False) -> dict[str, Any]:
    mine.answer(id, right(view(mine, id)["shown"], wrong))
    return view(mine, id)


@pytest.fixture
def ada(store: Store) -> QuizLearner:
    return QuizLearner.from_identity(auth.let_in(store, "learner", "Ada")[0])


@pytest.fixture
def mine(store: Store, ada: QuizLearner) -> SelfStudy:
    return self_study.begin(store, DECK, ada)


@pytest.fixture
def session(store: Store):
    with seed.alive(store, "class") as made:
        yield made


@pytest.mark.real
@pytest.mark.parametrize("id", [id for id in NOW if id != "which-lab"])
def test_a_wrong_answer_is_one_to_look_at_again(mine: SelfStudy, id: str) -> None:
    told = answer(mine, id, wrong=True)
    assert told["mark"]["right"] is False
    assert told["mark"]["points"] < 1
    assert mine.score().revisit == (id,)


@pytest.mark.real
def test_saved_answers_come_back(store: Store, mine: SelfStudy, ada: QuizLearner) -> None:
    first = {id: answer(mine, id) for id in NOW}
    for id, view_ in first.items():
        poll = id == "which-lab"
        assert view_["mark"]["right"] is (None if poll else True) and view_["solution"] is not None, view_
        assert view_["mark"]["points"] == (0 if poll else 1)
    with pytest.raises(BadInput, match="answered this question already"):
        answer(mine, NOW[0], wrong=True)
    again = self_study.begin(store, DECK, ada)
    assert again.player == mine.player
    assert {id: view(again, id) for id in NOW} == first
    score = self_study.progress(store, DECK, ada)
    assert score is not None
    assert (score.questions, score.answered, score.points, score.total) == (9, 8, 7, 8)
    assert (score.revisit, score.done) == ((), False)


def test_others_have_numbers_and_answers_of_their_own(store: Store, mine: SelfStudy) -> None:
    answer(mine, "how-many")
    others = [
        self_study.begin(store, DECK, QuizLearner.from_identity(auth.let_in(store, "learner", f"L{n}")[0]))
        for n in range(12)
    ]
    assert all(not other.answers() for other in others)
    texts = {view(other, "how-many")["shown"]["html"] for other in others}
    assert len(texts) > 2, "twelve people with one of seven numbers each"
    for other in others[:3]:
        assert answer(other, "how-many")["mark"]["right"]


def test_starting_over_is_another_attempt(store: Store, mine: SelfStudy, ada: QuizLearner) -> None:
    answer(mine, "how-many")
    second = mine.start_over()
    assert (second.player.attempt, second.answers(), len(mine.answers())) == (2, {}, 1)
    assert self_study.begin(store, DECK, ada).player == second.player
    assert mine.start_over().player == second.player, "the page of the first attempt was still open elsewhere"
    third = second.start_over()
    texts = {view(attempt, "how-many")["shown"]["html"] for attempt in (mine, second, third, third.start_over())}
    assert len(texts) > 1


def test_another_version_of_the_deck_is_another_round(store: Store, mine: SelfStudy, ada: QuizLearner) -> None:
    answer(mine, "one-right")
    changed = Deck.model_validate({**DECK.model_dump(mode="json"), "title": "Another title"})
    assert self_study.progress(store, changed, ada) is None
    assert self_study.begin(store, changed, ada).round.id != mine.round.id
    assert self_study.begin(store, DECK, ada).answers().keys() == {"one-right"}


def test_many_who_begin_at_once_are_in_the_same_round(store: Store) -> None:
    people = [QuizLearner.from_identity(auth.let_in(store, "learner", f"L{n}")[0]) for n in range(8)]
    begun: list[SelfStudy] = []
    threads = [
        threading.Thread(target=lambda who=who: begun.append(self_study.begin(store, DECK, who))) for who in people
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len({one.round.id for one in begun}) == 1
    assert len({one.player.id for one in begun}) == 8


def test_who_has_no_identity_is_known_by_name(store: Store, mine: SelfStudy) -> None:
    first = self_study.begin(store, DECK, QuizLearner(None, "ada"))
    answer(first, "one-right")
    assert self_study.begin(store, DECK, QuizLearner(None, "ada")).answers().keys() == {"one-right"}
    assert self_study.begin(store, DECK, QuizLearner(None, "ada2")).answers() == {}
    assert self_study.begin(store, DECK, QuizLearner(None, "Ada")).answers() == {}, (
        "the learner of that name is somebody else"
    )
    second = first.start_over()
    assert self_study.begin(store, DECK, QuizLearner(None, "ada")).player == second.player
    assert second.start_over().player.attempt == 3


@pytest.mark.parametrize(
    ("id", "raw", "why"),
    [
        ("one-right", None, "none of the answers"),
        ("how-long", "soon", "no number"),
        ("nothing", "a", "has no question 'nothing'"),
    ],
)
def test_what_can_t_be_read_is_not_kept(mine: SelfStudy, id: str, raw: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        mine.answer(id, raw)
    assert mine.answers() == {}


def test_a_prediction_without_a_session_is_kept(mine: SelfStudy) -> None:
    told = answer(mine, "how-long")
    assert (told["answer"], told["mark"], told["solution"]) == (3.0, None, None)
    assert told["measuring"]["words"] == "Your prediction is kept."
    assert "No session is up" in told["measuring"]["problem"]
    assert told["measuring"]["run"] is False
    with pytest.raises(BadInput, match="No session is up"):
        mine.run("how-long")
    assert mine.score().revisit == ()


@pytest.mark.real
def test_a_prediction_is_checked_when_one_s_own_run_is_done(
    store: Store, mine: SelfStudy, session: SessionRecord
) -> None:
    with pytest.raises(BadInput, match="Predict first"):
        mine.run("how-long")
    with pytest.raises(BadInput, match="nothing to run"):
        mine.run("one-right")
    told = answer(mine, "how-long")
    assert told["measuring"] == {
        "words": "Your prediction is kept. To check it, 1 run of your own is missing.",
        "progress": None,
        "problem": "",
        "run": True,
    }
    (run,) = mine.run("how-long").values()
    assert mine.run("how-long") == {}, "it is under way"
    assert f"when run {run} (waiting for its turn) is done" in view(mine, "how-long")["measuring"]["words"]
    store.take_next(session.id)
    store.set_run(run, progress=(1.0, 4.0))
    assert view(mine, "how-long")["measuring"]["progress"] == (0.25, 1)
    store.finish(run, "completed", metrics={"iterations": 4})
    told = view(mine, "how-long")
    assert told["measuring"] is None
    assert (told["mark"]["right"], told["truth"]["value"], told["solution"]["value"]) == (False, 4, 4)
    assert told["truth"]["words"] == "4 iterations"
    assert f"run {run}: k-means on 2 ranks" in told["truth"]["how"]
    assert mine.score().revisit == ("how-long",)


@pytest.mark.real
def test_runs_that_came_to_nothing_can_be_made_again(store: Store, mine: SelfStudy, session: SessionRecord) -> None:
    answer(mine, "how-long")
    failed = seed_run(store, session, mine, "failed", 0)
    told = view(mine, "how-long")["measuring"]
    assert told["run"] is True
    assert f"Run {failed} (kmeans) failed: no luck; run it again." in told["problem"]
    assert len(mine.run("how-long")) == 1


@pytest.mark.real
def test_a_run_that_waits_in_a_session_that_is_down_is_told(
    store: Store, mine: SelfStudy, session: SessionRecord
) -> None:
    answer(mine, "how-long")
    mine.run("how-long")
    store.update_session(session.id, state="failed")
    told = view(mine, "how-long")["measuring"]
    assert "Session class is failed: the run goes on when somebody starts it again." in told["problem"]


def test_runs_of_others_don_t_count(store: Store, mine: SelfStudy, session: SessionRecord) -> None:
    answer(mine, "how-long")
    nobody = self_study.begin(store, DECK, QuizLearner(None, "ada"))
    seed_run(store, session, nobody, "completed", 3)
    assert view(mine, "how-long")["mark"] is None
    assert answer(nobody, "how-long")["mark"]["right"]
    instructor = self_study.begin(
        store, DECK, QuizLearner.from_identity(auth.let_in(store, "instructor", "Instructor")[0])
    )
    assert answer(instructor, "how-long")["mark"]["right"], "the instructor's runs are nobody's"


def seed_run(store: Store, session: SessionRecord, mine: SelfStudy, status: str, iterations: int) -> int:
    """A run of one's own as the question wants it."""
    wanted = DECK.question("how-long").runs["two"]
    placement = {**seed.PLACEMENT, **wanted.placement}
    run = store.submit(session.id, wanted.workload, wanted.params, placement, identity_id=mine.learner.runs_owner)
    store.take_next(session.id)
    error = {"message": "no luck"} if status == "failed" else None
    store.finish(run.id, status, metrics={"iterations": iterations}, error=error)
    return run.id
