"""A class in the middle of its labs, as it stands in a store: rows with times of their own, and rounds of quizzes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from workshop.course.class_progress import Classroom
from workshop.store.records import LabProgress, QuizAnswer
from workshop.store.store import Store
from workshop.store.tables import progress

ODD = ("Zoë <b>bold</b>", "שרה לוי", "🐙 octopus", "=HYPERLINK(1)", "a_b*c~d")
HINTS = {
    "partial": "Some labels have <b>no sum</b>: a label without points needs a sum and a count of 0, too.",
    "squares": "Every rank has the sum of its own part only: which collective gives all of them the total?",
}


def keep(store: Store, *rows: LabProgress) -> None:
    with store.database.writing() as connection:
        connection.execute(progress.insert(), [vars(row) for row in rows])


def row(learner: str, lab: str, item: str, **values: Any) -> LabProgress:
    """An exercise by default; times are seconds before now."""
    now = time.time()
    given = {
        "kind": "exercise",
        "state": "",
        "tries": 0,
        "wrong": 0,
        "said": "",
        "value": None,
        "right": None,
        **values,
    }
    began, changed, right = given.pop("began", 600), given.pop("changed", 60), given.pop("right")
    times = {"began_at": now - began, "changed_at": now - changed}
    return LabProgress(
        learner=learner, lab=lab, item=item, **given, **times, right_at=None if right is None else now - right
    )


def right(learner: str, lab: str, item: str, ago: float = 120) -> LabProgress:
    return row(learner, lab, item, state="right", tries=2, began=ago + 60, changed=ago, right=ago)


def wrong(learner: str, lab: str, item: str, times: int = 1, ago: float = 120, said: str = "") -> LabProgress:
    return row(learner, lab, item, state="hint", tries=times, wrong=times, said=said, began=ago + 60, changed=ago)


def opened(learner: str, lab: str, ago: float = 600) -> LabProgress:
    return row(learner, lab, "", kind="notebook", began=ago, changed=ago)


def predicted(learner: str, lab: str, item: str, ago: float = 300, **value: Any) -> LabProgress:
    return row(learner, lab, item, kind="prediction", value=value, began=ago, changed=ago)


def names(number: int) -> list[str]:
    return [*ODD, *(f"learner-{n:02}" for n in range(1, number + 1 - len(ODD)))][:number]


def fill(store: Store, learners: int = 40) -> list[str]:
    """Learners at different places of the real course: each has finished some labs, is in the next one, and some are
    stuck there. Returns their names."""
    labs = Classroom(store).look().labs[:9]  # a lab more moves nobody
    everybody = names(learners)
    rows = []
    for number, name in enumerate(everybody):
        at = number * len(labs) // learners
        for place, lab in enumerate(labs[: at + 1]):
            ago = 60.0 + 1500 * (at - place) + 7 * (number % 9)
            rows.append(opened(name, lab.name, ago + 900))
            rows.append(predicted(name, lab.name, "two-ranks", ago + 600, guess=1.8, measured=1.62))
            solved = len(lab.exercises) if place < at else number % (len(lab.exercises) + 1)
            rows += [right(name, lab.name, item, ago + 30 * n) for n, item in enumerate(lab.exercises[:solved])]
            if place == at and solved < len(lab.exercises):
                item, times = lab.exercises[solved], (0, 1, 4)[number % 3]
                said = HINTS.get(item, "It is as large on one rank as on two: divide by the number of ranks.")
                rows += [wrong(name, lab.name, item, times, ago, said)] if times else []
    keep(store, *rows)
    for deck in (lab.deck for lab in labs[:3]):
        quiz(store, deck, {name: (n * 7) % 6 for n, name in enumerate(everybody)}, questions=5)
    quiz(store, labs[0].deck, {"only-quizzes": 4}, questions=5)
    return everybody


def quiz(
    store: Store, deck: str, right_of: dict[str, int], questions: int, kind: str = "live", skipped: Sequence[str] = ()
) -> int:
    """A round in which everybody has answered all questions, and as many right as it says."""
    asked = [{"id": f"q{n}", "type": "single"} for n in range(questions)] + [{"id": "like", "type": "poll"}]
    this = store.add_round(kind, {"deck": deck, "title": deck, "questions": asked}, state={"skipped": list(skipped)})
    for name, right_ones in right_of.items():
        identity = store.add_identity("learner", name, f"{this.id} {name}")
        player = store.add_player(this.id, identity.id, name).id
        marks = [(f"q{n}", n < right_ones) for n in range(questions)] + [("like", None)]
        store.keep_answers(
            [
                QuizAnswer(this.id, id, player, "", 0, time.time(), 1.0, float(bool(good)), good, 0.0)
                for id, good in marks
            ]
        )
    return this.id
