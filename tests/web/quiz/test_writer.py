"""Answers that are written together, and what goes wrong with one of them."""

from __future__ import annotations

import asyncio

from workshop.core.errors import WorkshopError
from workshop.store.records import QuizAnswer
from workshop.store.store import Store
from workshop.web.quiz.rounds import AnswerWriter


def answers(store: Store, players: int) -> list[QuizAnswer]:
    made = store.add_round("live", {"deck": "try", "title": "Try"}, code="ABCDEF")
    who = [store.add_player(made.id, None, f"P{number}").id for number in range(players)]
    return [QuizAnswer(made.id, "one", player, "", "a", 1.0, 1.0) for player in who]


def written(store: Store, given: list[QuizAnswer]) -> list[bool | None]:
    told: list[bool | None] = []

    async def work() -> None:
        writer = AnswerWriter(store)
        for one in given:
            writer.put(one, told.append)
        await writer.flush()
        assert len(told) == len(given), "all are told when it is done"
        await writer.flush()

    asyncio.run(work())
    return told


def test_each_is_told_in_turn(store: Store) -> None:
    given = answers(store, 40)
    assert written(store, [*given, given[0]]) == [True] * 40 + [False]
    assert len(store.answers()) == 40


def test_one_that_can_not_be_kept_is_nobody_elses_problem(store: Store) -> None:
    given = answers(store, 3)
    lost = QuizAnswer(given[0].round_id, "one", 999, "", "a", 1.0, 1.0)
    assert written(store, [given[0], lost, *given[1:]]) == [True, None, True, True]


def test_a_store_that_is_full_is_told(store: Store) -> None:
    class Full:
        def keep_answers(self, _: list[QuizAnswer]) -> list[bool]:
            raise WorkshopError("The store has no room left.")

    full: Store = Full()
    assert written(full, answers(store, 2)) == [None, None]
