"""Messages of a round: one message of its state for everybody, small ones for the host, and each player's own."""

from __future__ import annotations

import time
from typing import Any

from workshop.quiz.live import WORTH_TALKING, ballot, first_vote, possible, rules
from workshop.web.quiz.round import LiveRound, Participant, RoundQuestion, dumps

DUE = ("explained", "ranking")  # phases in which everybody may know what is right
_SHOWN_PHASES = ("question", "closed", "discussing", "measuring", *DUE)  # phases in which a question is shown
_RANKED = ("ranking", "podium", "ended")


def state_message(room: LiveRound, *, staff: bool) -> str:
    """The state without its beginning, which `stamped` puts before it. It is the same for all players; projector and
    host (`staff`) also get how many have answered."""
    state, current, participants, settings = room.state, room.current, room.participants, room.record.settings
    visible = current if state.phase in _SHOWN_PHASES else None
    due = state.phase in DUE
    message: dict[str, Any] = {
        "version": state.version,
        "phase": state.phase,
        "question": {**visible.shown, "id": ballot(visible.question.id, state.vote)} if visible else None,
        "vote": state.vote,
        "number": state.position + 1,
        "of": len(room.ids),
        "ends_at": state.ends_at if state.phase in ("question", "discussing") else None,
        "left": state.left,
        "players": participants.count,
        "answered": participants.answered(visible.question.id)
        if visible and (staff or state.phase != "question")
        else 0,
        "solution": visible.solution() if visible and due else None,
        "distribution": _distribution(room, visible) if visible else None,
        "first": _first_distribution(room, visible) if visible and due else None,
        "ranking": participants.ranking.top(
            {participant.id: participant.nickname for participant in participants.all.values()}
        )
        if room.ranked and state.phase in _RANKED
        else None,
        "truth": _truth(room, visible) if visible and due else None,
        "measuring": _measuring(room) if state.phase == "measuring" else None,
        "rules": rules(speed_bonus=bool(settings.get("speed_bonus"))),
        "title": room.record.title,
        "settings": settings,
    }
    if staff:
        last = state.position + 1 >= len(room.ids)
        measured = current is not None and current.question.measured
        message["locked"] = state.locked
        message["can"] = possible(state, measured=measured, ranked=room.ranked, last=last, twice=room.twice)
    return dumps(message)[1:]


def stamped(message: str) -> str:
    """A state as it is sent: with the server's time, by which browsers set their countdown."""
    return f'{{"kind":"state","now":{time.time():.3f},{message}'


def you(room: LiveRound, participant: Participant) -> str:
    """A player's own message. It has the mark only once that is due."""
    state, current, participants = room.state, room.current, room.participants
    question = current.question.id if current and state.phase in _SHOWN_PHASES else None
    key = first_vote(question) if question and state.phase == "discussing" else question
    answer = participants.answer(key, participant.id)
    mark = None
    if current and answer is not None and state.phase in DUE and answer.points is not None:
        judged = current.mark(answer.answer)
        feedback = judged.feedback if judged else ()
        mark = {"right": answer.right, "share": answer.share, "points": answer.points, "feedback": feedback}
    return dumps(
        {
            "kind": "you",
            "id": participant.id,
            "nickname": participant.nickname,
            "points": participants.points(participant.id),
            "place": participants.ranking.places.get(participant.id) if room.ranked else None,
            "of": participants.count,
            "question": ballot(question, state.vote) if question else None,
            "answer": current.question.sent(current.drawn, answer.answer) if current and answer is not None else None,
            "confirmed": answer is not None,
            "mark": mark,
        }
    )


def count(room: LiveRound) -> str:
    """How many have answered."""
    answered = room.participants.answered(room.question)
    return dumps({"kind": "count", "answered": answered, "players": room.participants.count})


def players(room: LiveRound) -> str:
    """Everybody who wasn't removed, for the host, with the first vote where the class doesn't see it."""
    participants = room.participants
    listed = [
        {
            "id": participant.id,
            "nickname": participant.nickname,
            "answered": participants.answer(room.question, participant.id) is not None,
            "here": bool(participant.clients),
            "points": participants.points(participant.id),
        }
        for participant in participants.present
    ]
    first = _first_vote(room, room.current) if room.current and room.hides_votes else None
    return dumps({"kind": "players", "players": listed, "first": first})


def names(room: LiveRound, most: int = 60) -> str:
    """The latest nicknames for the projector's lobby; the newest is the last."""
    listed = [
        {"id": participant.id, "nickname": participant.nickname} for participant in room.participants.present[-most:]
    ]
    return dumps({"kind": "names", "players": listed})


def _first_vote(room: LiveRound, current: RoundQuestion) -> dict[str, Any]:
    """The first vote for the host alone: its distribution, how many are right (None: not measured yet), and whether
    talking is worth while."""
    question = current.question.id
    answers = room.participants.answers(question if room.state.phase == "closed" else first_vote(question))
    marks = [current.right(answer.answer) for answer in answers]
    right = None if current.question.measured or None in marks else sum(map(bool, marks))
    low, high = WORTH_TALKING
    return {
        "distribution": current.distribution(answers, marked=right is not None),
        "right": right,
        "of": len(answers),
        "talk": right is None or (bool(answers) and low <= right / len(answers) <= high),
    }


def _distribution(room: LiveRound, current: RoundQuestion) -> dict[str, Any] | None:
    due = room.state.phase in DUE
    # Guesses are shown together with what was measured.
    if room.hides_votes or (not due and (current.question.measured or room.state.phase != "closed")):
        return None
    return current.distribution(room.participants.answers(current.question.id), marked=due)


def _first_distribution(room: LiveRound, current: RoundQuestion) -> dict[str, Any] | None:
    """The first vote beside the second one, with both shares of right answers."""
    question = current.question.id
    if question not in room.state.voted_twice:
        return None
    first, second = room.participants.answers(first_vote(question)), room.participants.answers(question)
    return {
        "distribution": current.distribution(first, marked=True),
        "right": [sum(bool(answer.right) for answer in answered) for answered in (first, second)],
        "of": [len(first), len(second)],
    }


def _truth(room: LiveRound, current: RoundQuestion) -> dict[str, Any] | None:
    truth = room.state.truths.get(current.question.id)
    if truth is None:
        return None
    return {"value": truth["value"], "unit": getattr(current.question, "unit", ""), "words": truth["words"]}


def _measuring(room: LiveRound) -> dict[str, Any]:
    runs, progress = list(room.state.runs.values()), room.progress  # runs are made in this order
    now = runs[min(int(progress[0]) if progress else 0, len(runs) - 1)]
    words = f"Measuring: {', '.join(f'run {run}' for run in runs)}."
    return {"words": words, "run": now, "progress": progress, "problem": room.state.problem or None}
