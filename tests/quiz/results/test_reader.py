"""Results from a real store: who counts, what counts, and what is gone once somebody is forgotten."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.quiz.results.kept import end, keep
from tests.quiz.results.rounds import DECK, deck, made, whole_class
from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck, ask
from workshop.quiz.results import record, spreadsheets
from workshop.quiz.results.findings import find
from workshop.quiz.results.record import Results
from workshop.store.records import QuizAnswer, QuizRound
from workshop.store.store import Store
from workshop.web.quiz.results import write_report


def answer(store: Store, this: QuizRound, player: int, question: str, given: Any, at: float, **marks: Any) -> None:
    assert store.keep_answers([QuizAnswer(this.id, question, player, "", given, at, 4.0, **marks)]) == [True]


def test_what_was_kept_is_read_again(store: Store) -> None:
    played = whole_class(15)
    read = record.read(store, keep(store, played).id)
    assert (read.title, read.question_ids) == (played.title, played.question_ids)
    assert [player.nickname for player in read.players] == [player.nickname for player in played.players]
    assert find(read).verdict == find(played).verdict
    first, again = find(played), find(read)
    assert [item.chosen for item in again.items] == [item.chosen for item in first.items], "misconceptions, too"
    assert [item.discrimination for item in again.items] == [item.discrimination for item in first.items]
    assert read.truths == {"sum": 16.0}
    assert read.notes == ()


def test_a_deck_of_another_version_is_refused_in_a_sentence(store: Store) -> None:
    this = store.add_round("live", {"deck": "old", "title": "Old", "questions": []})
    with pytest.raises(BadInput, match=f"deck of round {this.id} is of another version"):
        record.read(store, this.id)


def test_removed_players_and_skipped_questions_do_not_count(store: Store) -> None:
    this = keep(store, made(deck(3), [{"q1": 0, "q2": 0, "q3": 0}, {"q1": 1, "q2": 1, "q3": 1}]))
    store.remove_players([store.players(this.id)[1].id])
    end(store, this, 3, skipped=("q2",))
    read = record.read(store, this.id)
    assert [player.nickname for player in read.players] == ["learner 1"]
    assert read.question_ids == ("q1", "q3")
    assert {one.player for one in read.answers} == {read.players[0].id}
    assert read.notes == (
        "1 player was removed by the instructor and not counted.",
        "Question 2 was skipped and not counted.",
    )


def test_a_round_that_goes_on_says_so_and_has_the_questions_so_far(store: Store) -> None:
    this = keep(store, made(deck(3), [{"q1": 0}]))
    end(store, this, 1, phase="explained")
    read = record.read(store, this.id)
    assert read.question_ids == ("q1",)
    assert read.notes == ("The round is still going on, so that figures will change.",)


def test_who_joined_later_was_not_there_before(store: Store) -> None:
    this = store.add_round("live", deck(2).model_dump(mode="json"), code="ABCDEF", seed="s")
    early = store.add_player(this.id, None, "early")
    answer(store, this, early.id, "q1", 0, time.time(), share=1.0, right=True, points=1.0)
    late = store.add_player(this.id, None, "late")
    answer(store, this, late.id, "q2", 0, time.time(), share=1.0, right=True, points=1.0)
    end(store, this, 2)
    read = record.read(store, this.id)
    assert read.present["q1"] == {early.id}
    assert read.present["q2"] == {early.id, late.id}


def test_alone_the_first_attempt_counts_and_numbers_are_ones_own(store: Store) -> None:
    own = Deck.model_validate(
        {
            "deck": "own",
            "title": "Own numbers",
            "questions": [
                {
                    "id": "double",
                    "type": "number",
                    "text": "Twice {n}?",
                    "numbers": {"n": {"low": 2, "high": 900}},
                    "answer": "2 * n",
                    "near": [{"answer": "n", "feedback": "That is once."}],
                }
            ],
        }
    )
    this = store.add_round("alone", own.model_dump(mode="json"), seed="version")
    for nickname in ("Ada", "Grace"):
        who = store.add_identity("learner", nickname, nickname)
        for attempt in (1, 2):
            player = store.add_player(this.id, who.id, nickname, attempt)
            n = ask(own, own.questions[0], f"version/{who.id}/{attempt}").numbers["n"]
            answer(store, this, player.id, "double", n, time.time(), share=0.0, right=False, points=0.0)
    read = record.read(store, this.id)
    assert [player.nickname for player in read.players] == ["Ada", "Grace"]
    assert [one.near for one in read.answers] == [0, 0]
    assert read.truths == {}
    assert read.notes == ("2 later attempts were not counted: right answers had been shown before.",)
    (item,) = find(read).items
    assert item.text == "Twice {n}?"
    assert [(row.text, row.count) for row in item.chosen] == [("each learner's own", 0), ("n", 2)]


def test_a_prediction_has_what_was_measured(store: Store) -> None:
    wanted = {
        "id": "rate",
        "type": "predict",
        "text": "How fast?",
        "runs": {"one": {"workload": "kmeans"}},
        "truth": "one.seconds",
        "unit": "s",
    }
    guess = Deck.model_validate({"deck": "guess", "title": "Guess", "questions": [wanted]})
    this = store.add_round("live", guess.model_dump(mode="json"), code="ABCDEF", seed="s")
    for number, value in enumerate((1.0, 9.0, 10.5, 40.0)):
        player = store.add_player(this.id, None, f"p{number}")
        answer(store, this, player.id, "rate", value, time.time())
    end(store, this, 1)
    (item,) = find(record.read(store, this.id)).items
    assert (item.answered, item.judged, item.share) == (4, 0, None)
    assert item.discrimination is None
    end(store, this, 1, truths={"rate": {"value": 10.0, "words": "10 s"}})
    marks = {
        player.id: (1.0, True, 1.0) if n in (1, 2) else (0.0, False, 0.0)
        for n, player in enumerate(store.players(this.id))
    }
    store.judge_answers(this.id, "rate", marks)
    (item,) = find(record.read(store, this.id)).items
    assert [(row.text, row.count) for row in item.chosen] == [
        ("close to 10 s", 2),
        ("below 10 s", 1),
        ("above 10 s", 1),
    ]
    assert item.share == 0.5


def test_the_forgotten_are_nowhere(store: Store) -> None:
    names = ["Ada Lovelace", "Grace Hopper", "Alan Turing"]
    rows: list[dict[str, Any]] = [{"word": f"word of {name}", "sum": 3.0} for name in names]
    this = keep(store, made(DECK, rows, names))
    grace = next(player for player in store.players(this.id) if player.nickname == "Grace Hopper")

    def written(read: Results) -> str:
        return spreadsheets.csv(find(read)).decode() + write_report(find(read)).decode()

    assert "grace hopper" in written(record.read(store, this.id)).lower()
    assert store.forget_player(grace.id) == 2
    read = record.read(store, this.id)
    assert "grace" not in written(read).lower()
    assert [player.nickname for player in read.players] == ["Ada Lovelace", "Alan Turing"]
    assert all(answer.nickname != "Grace Hopper" for answer in store.answers(this.id))


def test_ranks_and_placements_have_their_answers_in_words(store: Store) -> None:
    both = Deck.model_validate(
        {
            "deck": "both",
            "title": "Both",
            "questions": [
                {
                    "id": "waits",
                    "type": "predict",
                    "text": "Which rank waits?",
                    "kind": "rank",
                    "runs": {"four": {"workload": "kmeans", "placement": {"ranks": 4}}},
                    "truth": "four.waits",
                },
                {
                    "id": "spread",
                    "type": "place",
                    "text": "One rank on each package.",
                    "given": {"ranks": 2},
                    "ask": ["map_by", "per_resource"],
                    "right": {"map_by": "package"},
                    "near": [{"placement": {"map_by": "core"}, "feedback": "That fills one package first."}],
                },
            ],
        }
    )
    this = store.add_round("live", both.model_dump(mode="json"), code="ABCDEF", seed="s")
    for rank, by in ((0, "package"), (2, "core"), (2, "core"), (3, "numa")):
        player = store.add_player(this.id, None, "p")
        right, placed = rank == 2, by == "package"
        marks = {"share": float(right), "right": right, "points": float(right)}
        answer(store, this, player.id, "waits", rank, time.time(), **marks)
        marks = {"share": float(placed), "right": placed, "points": float(placed)}
        composed = {"map_by": by, "per_resource": None}
        answer(store, this, player.id, "spread", composed, time.time(), **marks)
    end(store, this, 2, truths={"waits": {"value": 2.0, "words": "rank 2"}})
    found = find(record.read(store, this.id))
    ranks, places = found.items
    assert [(row.text, row.count, row.right) for row in ranks.chosen] == [
        ("2", 2, True),
        ("0", 1, False),
        ("3", 1, False),
    ]
    assert [(row.label, row.text, row.count) for row in places.chosen] == [
        ("right", "map_by package, or what places ranks alike", 1),
        ("misconception 1", "map_by core", 2),
        ("other", "map_by numa", 1),
    ]
    assert places.commonest_wrong.feedback == "That fills one package first."
    assert "map_by package" in spreadsheets.csv(found).decode()
