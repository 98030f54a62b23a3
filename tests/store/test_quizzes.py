"""Quizzes in the store: rounds and their codes, players and their names, and one answer per question and player."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.test_processes import GATE, OPEN, together
from workshop.core.errors import BadInput, WorkshopError
from workshop.store.records import QuizAnswer, QuizStanding
from workshop.store.store import Store

DECK = {"deck": "try", "title": "A <b>try</b> \0 漢", "questions": []}
KEEPER = (
    OPEN
    + "from workshop.store.records import QuizAnswer\nstore = Store.open(sys.argv[1])\nme = int(sys.argv[2])\n"
    + GATE
    + """
kept = []
for number in range(40):
    given = [QuizAnswer(1, f"q{number}", player, "", me, float(me), 1.0) for player in (1, 2, 3)]
    kept += [number * 10 + one.player_id for one, new in zip(given, store.keep_answers(given)) if new]
print(json.dumps(kept))
"""
)


JOINER = (
    OPEN
    + "from workshop.core.errors import BadInput\nstore = Store.open(sys.argv[1])\n"
    + GATE
    + """
came = []
for number in range(30):
    try:
        came.append(store.add_player(1, None, f"{sys.argv[2]}/{number}", most=50).id)
    except BadInput:
        pass
print(json.dumps(came))
"""
)


def new_round(store: Store, **wishes: Any) -> int:
    return store.add_round("live", DECK, **{"code": "ABCDEF", "seed": "s", **wishes}).id


def player(store: Store, round_id: int, nickname: str = "Ada") -> int:
    return store.add_player(round_id, None, nickname).id


def answer(round_id: int, who: int, question: str = "one", given: Any = "b", at: float = 5.0) -> QuizAnswer:
    return QuizAnswer(round_id, question, who, "", given, at, 1.5)


def test_a_round_is_kept_as_it_began(store: Store) -> None:
    made = store.add_round("live", DECK, code="ABCDEF", seed="s", session="class", settings={"ranking": True})
    assert store.round(made.id) == made
    assert (made.name, made.title, made.deck, made.state) == ("try", "A <b>try</b> \ufffd 漢", DECK, {})
    store.set_round_state(made.id, {"phase": "question", "ends_at": 1.25})
    assert store.round(made.id).state == {"phase": "question", "ends_at": 1.25}
    alone = store.add_round("alone", DECK)
    assert [one.id for one in store.rounds()] == [alone.id, made.id]
    assert [one.id for one in store.rounds("alone")] == [alone.id]
    assert store.rounds("live", "other") == []
    for number in (0, 99, 2**40, -1):
        with pytest.raises(BadInput, match="no quiz round"):
            store.round(number)


def test_a_code_leads_to_one_round_that_goes_on(store: Store) -> None:
    first = new_round(store)
    with pytest.raises(BadInput, match="goes on already"):
        new_round(store)
    assert (found := store.round_by_code("ABCDEF")) is not None and found.id == first
    store.set_round_state(first, {}, ended=True)
    assert store.round(first).ended_at is not None
    assert store.round_by_code("ABCDEF") is None
    second = new_round(store)
    assert (found := store.round_by_code("ABCDEF")) is not None and found.id == second
    assert [one.id for one in store.rounds(going_on=True)] == [second]
    assert [new_round(store, code=None), new_round(store, code=None)] == [second + 1, second + 2]


def test_names_are_everybodys_own_and_who_is_in_stays_who_they_are(store: Store) -> None:
    one, other = new_round(store), new_round(store, code="OTHERS")
    ada = store.add_identity("player", "Ada", "hash a")
    bob = store.add_identity("player", "Ada", "hash b")
    first = store.add_player(one, ada.id, "Ada")
    assert store.add_player(one, bob.id, "Ada").nickname == "Ada 2"
    assert store.add_player(one, None, "Ada").nickname == "Ada 3"
    assert store.add_player(one, None, "x" * 30).nickname == "x" * 30
    assert store.add_player(one, None, "x" * 30).nickname == "x" * 25 + " 2"
    assert store.add_player(other, bob.id, "Ada").nickname == "Ada"
    store.remove_players([first.id])
    again = store.add_player(one, ada.id, "Eve")
    assert (again.id, again.nickname, again.removed) == (first.id, "Ada", True), "nobody comes back under another name"
    second = store.add_player(one, ada.id, "Ada", attempt=2)
    assert (second.nickname, second.attempt) == ("Ada 4", 2)
    assert [found.id for found in store.players(one, ada.id)] == [first.id, second.id]


def test_a_round_takes_so_many_and_those_who_are_in_always(store: Store) -> None:
    one, other = new_round(store), new_round(store, code="OTHERS")
    ada, bob = (store.add_identity("player", name, name) for name in ("Ada", "Bob"))
    first = store.add_player(one, ada.id, "Ada", most=2)
    gone = store.add_player(one, None, "Eve", most=2)
    with pytest.raises(BadInput, match=r"full: 2 players are in it.*ask its host to remove"):
        store.add_player(one, bob.id, "Bob", most=2)
    assert store.add_player(one, ada.id, "Ada", most=1) == first
    assert store.add_player(other, bob.id, "Bob", most=2).nickname == "Bob", "another round has room of its own"
    store.remove_players([gone.id])
    assert store.add_player(one, bob.id, "Bob", most=2).nickname == "Bob", "who was removed takes nobody's place"


@pytest.mark.real
def test_several_processes_fill_a_round_to_the_last_place(store: Store, url: str) -> None:
    this = new_round(store)
    came = together(JOINER, *[(url, who) for who in "ABC"])
    assert sorted(one for some in came for one in some) == [one.id for one in store.players(this)]
    assert len(store.players(this)) == 50


def test_a_round_goes_on_from_the_state_that_is_stored(store: Store) -> None:
    this = new_round(store, state={"version": 3})
    store.set_round_state(this, {"version": 4}, former=3)
    with pytest.raises(WorkshopError, match="has gone on meanwhile"):
        store.set_round_state(this, {"version": 4, "phase": "ended"}, ended=True, former=3)
    assert (store.round(this).state, store.round(this).ended_at) == ({"version": 4}, None)


def test_the_first_answer_stays(store: Store) -> None:
    this = new_round(store)
    ada, bob = player(store, this), player(store, this, "Bob")
    given = [answer(this, ada), answer(this, bob, given=[1, 2]), answer(this, ada, given="c"), answer(this, ada, "two")]
    assert store.keep_answers(given) == [True, True, False, True]
    assert store.keep_answers([answer(this, ada, given="d")]) == [False]
    assert store.keep_answers([]) == []
    (kept,) = store.answers(this, "one", ada)
    assert kept == QuizAnswer(this, "one", ada, "Ada", "b", 5.0, 1.5)
    assert [(one.question, one.nickname) for one in store.answers(this)] == [
        ("one", "Ada"),
        ("two", "Ada"),
        ("one", "Bob"),
    ]
    store.judge_answers(this, "one", {ada: (0.5, False, 1.0), bob: (0.0, None, 0.0)})
    judged = {one.player_id: (one.share, one.right, one.points) for one in store.answers(this, "one")}
    assert judged == {ada: (0.5, False, 1.0), bob: (0.0, None, 0.0)}
    assert store.answers(this, "two")[0].points is None
    store.judge_answers(this, "one", {})


@pytest.mark.real
def test_several_processes_keep_each_answer_once(store: Store, url: str) -> None:
    this = new_round(store)
    assert [player(store, this, name) for name in "ABC"] == [1, 2, 3]
    kept = together(KEEPER, *[(url, number) for number in range(3)])
    assert sorted(one for some in kept for one in some) == sorted(n * 10 + p for n in range(40) for p in (1, 2, 3))
    for number, some in enumerate(kept):
        mine = {f"q{one // 10}/{one % 10}" for one in some}
        stored = {f"{one.question}/{one.player_id}" for one in store.answers(this) if one.answer == number}
        assert mine == stored, "who was told so is who is kept"


def test_answers_are_on_the_disk_when_that_is_promised(store: Store, url: str) -> None:
    """SQLite syncs its log at every commit of a connection that is set so; other writers stay as they were."""
    if not url.startswith("sqlite"):
        return  # PostgreSQL does so unless its server is told otherwise
    with store.database.writing(durable=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    with store.database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1


def test_how_far_everybody_has_come(store: Store) -> None:
    assert store.quiz_standings() == []
    this, alone = new_round(store), store.add_round("alone", {**DECK, "deck": "other"}).id
    bob = store.add_identity("learner", "Bob", "hash b")
    first, second = player(store, this), store.add_player(alone, bob.id, "Bob").id
    gone, quiet = player(store, this, "Eve"), player(store, this, "Quiet")
    store.keep_answers(
        [answer(this, first, at=5.0), answer(this, first, "two", at=7.0), answer(this, first, "poll", at=6.0)]
    )
    store.keep_answers([answer(this, gone), answer(alone, second, at=9.0)])
    store.remove_players([gone])
    before = {one.player_id: (one.answered, one.share) for one in store.quiz_standings()}
    assert before == {first: (3, 0.0), second: (1, 0.0)}, "nothing is judged yet"
    for question, mark in (("one", (0.5, False, 1.0)), ("two", (1.0, True, 2.0)), ("poll", (0.0, None, 0.0))):
        store.judge_answers(this, question, {first: mark})
    assert store.quiz_standings() == [
        QuizStanding(this, "live", "try", first, None, "Ada", 3, 1.5, 7.0),
        QuizStanding(alone, "alone", "other", second, bob.id, "Bob", 1, 0.0, 9.0),
    ]
    assert quiet not in before


def test_somebodys_data_is_removed(store: Store) -> None:
    this, other = new_round(store), new_round(store, code="OTHERS")
    ada = store.add_identity("player", "Ada", "hash a")
    learner = store.add_identity("learner", "Bob", "hash b")
    mine = [store.add_player(one, ada.id, "Ada").id for one in (this, other)]
    theirs = [store.add_player(this, learner.id, "Bob", attempt).id for attempt in (1, 2)]
    nameless = [store.add_player(this, None, name).id for name in ("Cleo", "Dan")]
    store.keep_answers([answer(this, mine[0]), answer(other, mine[1]), *(answer(this, id) for id in theirs + nameless)])
    assert store.forget_player(theirs[0]) == 2, "all attempts go"
    assert (found := store.identity("hash b")) is not None and found.nickname == "Bob", "the class knows them, too"
    assert store.forget_player(nameless[0]) == 1
    assert [one.player_id for one in store.answers()] == [*mine, nameless[1]]
    assert store.forget_player(mine[0]) == 1
    assert (found := store.identity("hash a")) is not None and found.nickname == "Ada", "another round has them"
    assert store.forget_player(mine[1]) == 1
    assert (found := store.identity("hash a")) is not None and found.nickname == ""


JSONS = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(min_size=1, max_size=20), JSONS), max_size=6))
def test_whatever_is_answered_is_read_again(store: Store, given_: list[tuple[str, Any]]) -> None:
    this = new_round(store, code=None)
    for nickname, value in given_:
        assert store.keep_answers([answer(this, player(store, this, nickname), given=value)]) == [True]
    assert [one.answer for one in store.answers(this)] == [value for _, value in given_]
