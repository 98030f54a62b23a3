"""Rounds to count: one deck with a question of every type that is told at once, and classes that answered it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from workshop.quiz.deck import Deck, ask
from workshop.quiz.results.record import Player, Results, RoundAnswer

# The second question's option C and the number's misconception are what many think; of the fourth one the key is wrong.
DECK = Deck.model_validate(
    {
        "deck": "ranks",
        "title": "Ranks and their cores",
        "seconds": 40,
        "questions": [
            {
                "id": "world",
                "type": "single",
                "text": "What is the **world size** of `mpirun -n 4`?",
                "tags": ["mpi"],
                "options": [
                    {"text": "4", "right": True},
                    {"text": "1", "feedback": "One rank is one process; `-n 4` starts four."},
                    {"text": "The number of cores", "feedback": "Only where nobody says `-n`."},
                    {"text": "It is random"},
                ],
            },
            {
                "id": "sum",
                "type": "number",
                "text": "Each of 8 ranks holds $2$. What does an all-reduce (sum) leave on rank 3?",
                "tags": ["mpi", "collectives"],
                "points": 2,
                "answer": 16,
                "near": [{"answer": 2, "feedback": "That is what it had before; the sum reaches every rank."}],
            },
            {
                "id": "true",
                "type": "multiple",
                "text": "What is true of data-parallel training?",
                "tags": ["training"],
                "options": [
                    {"text": "Every rank holds all weights", "right": True},
                    {"text": "Gradients are averaged", "right": True},
                    {"text": "Each rank holds a part of the layers", "feedback": "That is model parallelism."},
                ],
            },
            {
                "id": "like",
                "type": "poll",
                "text": "How fast is this?",
                "options": [{"text": "fine"}, {"text": "fast"}],
            },
            {
                "id": "steps",
                "type": "order",
                "text": "Put one step in order.",
                "tags": ["training"],
                "items": ["forward", "backward", "all-reduce", "update"],
            },
            {
                "id": "who",
                "type": "match",
                "text": "What belongs together?",
                "tags": ["collectives"],
                "pairs": [
                    {"left": "broadcast", "right": "one to all"},
                    {"left": "reduce", "right": "all to one"},
                    {"left": "all-reduce", "right": "all to all"},
                ],
            },
            {
                "id": "word",
                "type": "text",
                "text": "What is one process of MPI called?",
                "accept": ["rank"],
                "near": [{"accept": ["thread"], "feedback": "A rank is a process, which may have several threads."}],
            },
        ],
    }
)


def deck(number: int, options: int = 4) -> Deck:
    """A deck of so many single choices, of which the first option is right: q1, q2, …"""
    told = [{"text": f"option {place}", "right": place == 0} for place in range(options)]
    asked = [{"id": f"q{n}", "type": "single", "text": f"Question {n}?", "options": told} for n in range(1, number + 1)]
    return Deck.model_validate({"deck": "plain", "title": "Plain", "questions": asked})


def made(of: Deck, answers: Sequence[Mapping[str, Any]], names: Sequence[str] = (), **more: Any) -> Results:
    """A round in which each learner gave these answers (canonical, by question), graded as they would be."""
    players = [Player(n, names[n - 1] if names else f"learner {n}") for n in range(1, len(answers) + 1)]
    given = []
    for player, theirs in zip(players, answers, strict=True):
        for place, (id, answer) in enumerate(theirs.items()):
            question = of.question(id)
            mark = question.grade(ask(of, question, "seed"), answer)
            poll = question.type == "poll"
            near = {("number", 2): 0, ("text", "thread"): 0}.get((question.type, answer if _plain(answer) else None))
            given.append(
                RoundAnswer(
                    question=id,
                    player=player.id,
                    answer=answer,
                    seconds=3.0 + player.id + place,
                    share=None if poll else mark.share,
                    right=mark.right,
                    points=None if poll else mark.share * of.points_of(question),
                    near=near,
                )
            )
    asked = tuple(question.id for question in of.questions)
    truths = {id: 16.0 for id in asked if id == "sum"}
    return Results(7, of.title, of, asked, tuple(players), tuple(given), 1.7e9, **{"truths": truths, **more})


def marks(rows: Sequence[Sequence[int]]) -> Results:
    """A round of single choices from marks: a row for each learner, 1 where the question was right."""
    questions = len(rows[0]) if rows else 1
    return made(deck(questions), [{f"q{n}": 1 - mark for n, mark in enumerate(row, 1)} for row in rows])


def _knows(chance: random.Random, able: float, least: float) -> bool:
    return chance.random() < able * (1 - least) + 0.1


def whole_class(learners: int = 24, seed: int = 3) -> Results:
    """A class that is unequal, with misconceptions: what a report is looked at with."""
    chance = random.Random(seed)
    rows = []
    for _ in range(learners):
        knows = partial(_knows, chance, chance.random())
        row: dict[str, Any] = {
            "world": 0 if knows(0.1) else chance.choice([1, 2, 2]),
            "sum": 16.0 if knows(0.3) else chance.choice([2.0, 2.0, 2.0, 8.0, 10.0]),
            "true": [0, 1] if knows(0.2) else chance.choice([[0], [0, 2], [2]]),
            "like": chance.choice([0, 0, 1]),
            "steps": [0, 1, 2, 3] if knows(0.2) else chance.choice([[0, 2, 1, 3], [0, 1, 3, 2], [1, 0, 2, 3]]),
            "who": [0, 1, 2] if knows(0.1) else chance.choice([[0, 2, 1], [1, 0, 2]]),
            "word": "rank" if knows(0.1) else chance.choice(["thread", "node", "process"]),
        }
        for id in list(row):
            if chance.random() < 0.06:
                del row[id]
        rows.append(row)
    names = ["Ada", "Grace", "Zoë <b>bold</b>", '=HYPERLINK("http://x")', "علي", "Mia 👩‍🚀", "Linus", "Barbara"]
    return made(DECK, rows, [*names, *(f"Learner {n}" for n in range(len(names), learners))][:learners])


def _plain(answer: Any) -> bool:
    return isinstance(answer, str | int | float)
