"""What a round tells: one message of its state for everybody, small ones for the host, and each player's own."""

from __future__ import annotations

import time
from typing import Any

from workshop.quiz import question_view as asking
from workshop.quiz.distribution import distribution
from workshop.quiz.live import scoring
from workshop.quiz.live.state import RoundState, possible
from workshop.server.quiz.client import dumps
from workshop.server.quiz.participants import Participant, Participants
from workshop.server.quiz.question import RoundQuestion
from workshop.store.records import QuizRound

DUE = ("explained", "ranking")  # phases in which everybody may know what is right
_ASKED = ("question", "closed", "measuring", *DUE)  # phases in which a question is shown
_RANKED = ("ranking", "podium", "ended")


def state_message(
    record: QuizRound,
    state: RoundState,
    asked: RoundQuestion | None,
    seats: Participants,
    questions: int,
    progress: tuple[float, float] | None,
    *,
    staff: bool,
) -> str:
    """The state without its beginning, which `stamped` puts before it. It is the same for all players; projector and
    host (`staff`) also get how many have answered."""
    shown = asked if state.phase in _ASKED else None
    settings = record.settings
    ranked = bool(settings.get("ranking", True))
    told: dict[str, Any] = {
        "version": state.version,
        "phase": state.phase,
        "question": shown.shown if shown else None,
        "number": state.position + 1,
        "of": questions,
        "ends_at": state.ends_at if state.phase == "question" else None,
        "left": state.left,
        "players": seats.count,
        "answered": seats.answered(shown.question.id) if shown and (staff or state.phase != "question") else 0,
        "solution": shown.solution() if shown and state.phase in DUE else None,
        "distribution": _distribution(state, shown, seats) if shown else None,
        "ranking": _ranking(seats) if ranked and state.phase in _RANKED else None,
        "truth": _truth(state, shown) if shown and state.phase in DUE else None,
        "measuring": _measuring(state, progress),
        "rules": scoring.rules(speed_bonus=bool(settings.get("speed_bonus"))),
        "title": record.title,
        "settings": settings,
    }
    if staff:
        last = state.position + 1 >= questions
        measured = asked is not None and asked.measured
        told["locked"] = state.locked
        told["can"] = possible(state, measured=measured, ranked=ranked, last=last)
    return dumps(told)[1:]


def stamped(message: str) -> str:
    """A state as it is sent: with the server's time, by which browsers set their countdown."""
    return f'{{"kind":"state","now":{time.time():.3f},{message}'


def you(seats: Participants, seat: Participant, state: RoundState, asked: RoundQuestion | None, *, ranked: bool) -> str:
    """What is a player's own. Their mark only once it is due."""
    question = asked.question.id if asked and state.phase in _ASKED else None
    kept = seats.answer(question, seat.id)
    mark = None
    if asked and kept is not None and state.phase in DUE and kept.points is not None:
        feedback = asked.grader.feedback(kept.answer)
        mark = {"right": kept.right, "share": kept.share, "points": kept.points, "feedback": feedback}
    return dumps(
        {
            "kind": "you",
            "id": seat.id,
            "nickname": seat.nickname,
            "points": seats.points(seat.id),
            "place": seats.ranking.places.get(seat.id) if ranked else None,
            "of": seats.count,
            "question": question,
            "answer": asking.raw(asked.asked, kept.answer) if asked and kept is not None else None,
            "confirmed": kept is not None,
            "mark": mark,
        }
    )


def count(seats: Participants, question: str | None) -> str:
    return dumps({"kind": "count", "answered": seats.answered(question), "players": seats.count})


def players(seats: Participants, question: str | None) -> str:
    """Everybody who wasn't removed, for the host."""
    listed = [
        {
            "id": seat.id,
            "nickname": seat.nickname,
            "answered": seats.answer(question, seat.id) is not None,
            "here": bool(seat.clients),
            "points": seats.points(seat.id),
        }
        for seat in seats.there
    ]
    return dumps({"kind": "players", "players": listed})


def names(seats: Participants, most: int = 60) -> str:
    """Who has come lately, for the projector's lobby; the newest one is the last."""
    listed = [{"id": seat.id, "nickname": seat.nickname} for seat in seats.there[-most:]]
    return dumps({"kind": "names", "players": listed})


def _distribution(state: RoundState, asked: RoundQuestion, seats: Participants) -> dict[str, Any] | None:
    # Guesses are shown together with what was measured.
    if state.phase not in DUE and (asked.measured or state.phase != "closed"):
        return None
    answers = [kept.answer for kept in seats.answers(asked.question.id)]
    return distribution(asked.asked, answers, asked.grader.right if state.phase in DUE else None)


def _ranking(seats: Participants) -> list[dict[str, Any]]:
    return seats.ranking.top({seat.id: seat.nickname for seat in seats.all.values()})


def _truth(state: RoundState, asked: RoundQuestion) -> dict[str, Any] | None:
    found = state.truths.get(asked.question.id)
    if found is None:
        return None
    return {"value": found["value"], "unit": getattr(asked.question, "unit", ""), "words": found["words"]}


def _measuring(state: RoundState, progress: tuple[float, float] | None) -> dict[str, Any] | None:
    if state.phase != "measuring":
        return None
    runs = ", ".join(f"run {run}" for run in state.runs.values())
    return {"words": f"Measuring: {runs}.", "progress": progress, "problem": state.problem or None}
