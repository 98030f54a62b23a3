"""The roster of the class: who joined, who is here now, what everybody did last, and who asks for help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from workshop.course.progress import Class, LearnerProgress
from workshop.course.stuck import time_ago
from workshop.quiz.results.spreadsheets import table_csv, when
from workshop.server.presence import is_present
from workshop.store.read_only import recorded
from workshop.store.records import Attendance
from workshop.store.store import Store

HEADINGS = ("learner", "joined", "here now", "last here", "last action", "last action at", "asked for help")


def read(store: Store, class_: Class, now: float) -> list[Attendance]:
    """Everybody who came in or began a lab, with the last action on the dashboard or in a lab. Those who ask for help
    come first, the longest first, then all others by name. A recording has no roster: it says of nobody when they came.
    """
    if recorded(store.database) is not None:
        return []
    learners = {learner.name: learner for learner in class_.learners if not learner.quizzes_only}
    names, entries = store.of_notebooks(learners), []
    for attendance in store.attendances():
        # A visitor with the name of a notebook is another person: nothing proves that they are the same.
        own_name = attendance.nickname if attendance.nickname not in names.values() else ""
        entries.append(_with_last_action(attendance, learners.pop(names.get(attendance.id, own_name), None)))
    for name, learner in learners.items():  # who only works in notebooks
        began_at = min(lab.began_at for lab in learner.labs if lab.began_at is not None)
        entries.append(_with_last_action(Attendance(0, name, began_at), learner))
    return sorted(entries, key=lambda entry: (entry.help_asked_at or now, entry.nickname.casefold(), entry.id))


def _with_last_action(attendance: Attendance, learner: LearnerProgress | None) -> Attendance:
    lab = learner.last if learner is not None else None
    if lab is None or (attendance.acted_at or 0.0) > (lab.last_at or 0.0):
        return attendance
    return replace(attendance, action=f"{lab.last} ({lab.lab.label})", acted_at=lab.last_at)


def rows(roster: Iterable[Attendance], now: float) -> list[dict[str, Any]]:
    """The roster in words, for the live page."""
    return [
        {
            "name": entry.nickname,
            "present": is_present(entry, now),
            "here": "here" if is_present(entry, now) else time_ago(entry.seen_at, now),
            "joined": time_ago(entry.created_at, now),
            "action": f"{entry.action}, {time_ago(entry.acted_at, now)}" if entry.action else "",
            "help": f"asked {time_ago(entry.help_asked_at, now)}" if entry.help_asked_at else "",
        }
        for entry in roster
    ]


def write_csv(roster: Iterable[Attendance], now: float) -> bytes:
    """The roster as CSV; times are local."""
    table = []
    for entry in roster:
        present = "yes" if is_present(entry, now) else "no"
        action = (entry.action, when(entry.acted_at), when(entry.help_asked_at))
        cells = (entry.nickname, when(entry.created_at), present, when(entry.seen_at), *action)
        table.append(dict(zip(HEADINGS, cells, strict=True)))
    return table_csv(table, HEADINGS)
