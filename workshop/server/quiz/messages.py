"""Messages of a round: one message of its state for everybody, small ones for the host, and each player's own."""

from __future__ import annotations

import time
from typing import Any

from workshop.quiz.live import scoring
from workshop.quiz.live.state import RoundState, possible
from workshop.server.quiz.client import dumps
from workshop.server.quiz.participants import Participant, Participants
from workshop.server.quiz.question import RoundQuestion
from workshop.store.records import QuizRound

DUE = ("explained", "ranking")  # phases in which everybody may know what is right
_SHOWN_PHASES = ("question", "closed", "measuring", *DUE)  # phases in which a question is shown
_RANKED = ("ranking", "podium", "ended")


def state_message(
    record: QuizRound,
    state: RoundState,
    current: RoundQuestion | None,
    participants: Participants,
    questions: int,
    progress: tuple[float, float] | None,
    *,
    staff: bool,
) -> str:
    """The state without its beginning, which `stamped` puts before it. It is the same for all players; projector and
    host (`staff`) also get how many have answered."""
    visible = current if state.phase in _SHOWN_PHASES else None
    settings = record.settings
    ranked = bool(settings.get("ranking", True))
    message: dict[str, Any] = {
        "version": state.version,
        "phase": state.phase,
        "question": visible.shown if visible else None,
        "number": state.position + 1,
        "of": questions,
        "ends_at": state.ends_at if state.phase == "question" else None,
        "left": state.left,
        "players": participants.count,
        "answered": participants.answered(visible.question.id)
        if visible and (staff or state.phase != "question")
        else 0,
        "solution": visible.solution() if visible and state.phase in DUE else None,
        "distribution": _distribution(state, visible, participants) if visible else None,
        "ranking": _ranking(participants) if ranked and state.phase in _RANKED else None,
        "truth": _truth(state, visible) if visible and state.phase in DUE else None,
        "measuring": _measuring(state, progress),
        "rules": scoring.rules(speed_bonus=bool(settings.get("speed_bonus"))),
        "title": record.title,
        "settings": settings,
    }
    if staff:
        last = state.position + 1 >= questions
        measured = current is not None and current.question.measured
        message["locked"] = state.locked
        message["can"] = possible(state, measured=measured, ranked=ranked, last=last)
    return dumps(message)[1:]


def stamped(message: str) -> str:
    """A state as it is sent: with the server's time, by which browsers set their countdown."""
    return f'{{"kind":"state","now":{time.time():.3f},{message}'


def you(
    participants: Participants,
    participant: Participant,
    state: RoundState,
    current: RoundQuestion | None,
    *,
    ranked: bool,
) -> str:
    """A player's own message. It has the mark only once that is due."""
    question = current.question.id if current and state.phase in _SHOWN_PHASES else None
    answer = participants.answer(question, participant.id)
    mark = None
    if current and answer is not None and state.phase in DUE and answer.points is not None:
        feedback = current.grader.feedback(answer.answer)
        mark = {"right": answer.right, "share": answer.share, "points": answer.points, "feedback": feedback}
    return dumps(
        {
            "kind": "you",
            "id": participant.id,
            "nickname": participant.nickname,
            "points": participants.points(participant.id),
            "place": participants.ranking.places.get(participant.id) if ranked else None,
            "of": participants.count,
            "question": question,
            "answer": current.question.sent(current.drawn, answer.answer) if current and answer is not None else None,
            "confirmed": answer is not None,
            "mark": mark,
        }
    )


def count(participants: Participants, question: str | None) -> str:
    return dumps({"kind": "count", "answered": participants.answered(question), "players": participants.count})


def players(participants: Participants, question: str | None) -> str:
    """Everybody who wasn't removed, for the host."""
    listed = [
        {
            "id": participant.id,
            "nickname": participant.nickname,
            "answered": participants.answer(question, participant.id) is not None,
            "here": bool(participant.clients),
            "came": participant.came,
            "points": participants.points(participant.id),
        }
        for participant in participants.present
    ]
    return dumps({"kind": "players", "players": listed})


def names(participants: Participants, most: int = 60) -> str:
    """The latest nicknames for the projector's lobby; the newest is the last. Nicknames without a page don't show."""
    listed = [
        {"id": participant.id, "nickname": participant.nickname}
        for participant in participants.present
        if participant.came
    ][-most:]
    return dumps({"kind": "names", "players": listed})


def _distribution(state: RoundState, current: RoundQuestion, participants: Participants) -> dict[str, Any] | None:
    # Guesses are shown together with what was measured.
    if state.phase not in DUE and (current.question.measured or state.phase != "closed"):
        return None
    answers = [answer.answer for answer in participants.answers(current.question.id)]
    return current.question.distribution(current.drawn, answers, current.grader.right if state.phase in DUE else None)


def _ranking(participants: Participants) -> list[dict[str, Any]]:
    return participants.ranking.top({participant.id: participant.nickname for participant in participants.all.values()})


def _truth(state: RoundState, current: RoundQuestion) -> dict[str, Any] | None:
    truth = state.truths.get(current.question.id)
    if truth is None:
        return None
    return {"value": truth["value"], "unit": getattr(current.question, "unit", ""), "words": truth["words"]}


def _measuring(state: RoundState, progress: tuple[float, float] | None) -> dict[str, Any] | None:
    if state.phase != "measuring":
        return None
    runs = list(state.runs.values())  # they are made in this order
    ended = min(int(progress[0]), len(runs) - 1) if progress else 0
    named = ", ".join(f"run {run}" for run in runs)
    now = runs[ended] if runs else None
    return {"words": f"Measuring: {named}.", "run": now, "progress": progress, "problem": state.problem or None}
