"""Messages of a round: one message of its state for everybody, small ones for the host, and each player's own."""

from __future__ import annotations

import time
from typing import Any

from workshop.quiz.live.state import WORTH_TALKING, RoundState, ballot, first_vote, possible, rules
from workshop.store.records import QuizRound
from workshop.web.quiz.client import dumps
from workshop.web.quiz.participants import Participant, Participants
from workshop.web.quiz.question import RoundQuestion

DUE = ("explained", "ranking")  # phases in which everybody may know what is right
_SHOWN_PHASES = ("question", "closed", "discussing", "measuring", *DUE)  # phases in which a question is shown
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
    hidden = hides_votes(record, state, current)
    message: dict[str, Any] = {
        "version": state.version,
        "phase": state.phase,
        "question": {**visible.shown, "id": ballot(visible.question.id, state.vote)} if visible else None,
        "vote": state.vote,
        "number": state.position + 1,
        "of": questions,
        "ends_at": state.ends_at if state.phase in ("question", "discussing") else None,
        "left": state.left,
        "players": participants.count,
        "answered": participants.answered(visible.question.id)
        if visible and (staff or state.phase != "question")
        else 0,
        "solution": visible.solution() if visible and state.phase in DUE else None,
        "distribution": _distribution(state, visible, participants, hidden=hidden) if visible else None,
        "first": _first_distribution(state, visible, participants) if visible else None,
        "ranking": _ranking(participants) if ranked and state.phase in _RANKED else None,
        "truth": _truth(state, visible) if visible and state.phase in DUE else None,
        "measuring": _measuring(state, progress),
        "rules": rules(speed_bonus=bool(settings.get("speed_bonus"))),
        "title": record.title,
        "settings": settings,
    }
    if staff:
        last = state.position + 1 >= questions
        measured = current is not None and current.question.measured
        message["locked"] = state.locked
        message["can"] = possible(
            state, measured=measured, ranked=ranked, last=last, twice=votes_twice(record, current)
        )
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
    key = first_vote(question) if question and state.phase == "discussing" else question
    answer = participants.answer(key, participant.id)
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
            "question": ballot(question, state.vote) if question else None,
            "answer": current.question.sent(current.drawn, answer.answer) if current and answer is not None else None,
            "confirmed": answer is not None,
            "mark": mark,
        }
    )


def count(participants: Participants, question: str | None) -> str:
    return dumps({"kind": "count", "answered": participants.answered(question), "players": participants.count})


def votes_twice(record: QuizRound, current: RoundQuestion | None) -> bool:
    """Whether the class may vote twice on the question."""
    marked = current is not None and (current.question.marked or current.question.measured)
    return marked and bool(record.settings.get("vote_twice"))


def hides_votes(record: QuizRound, state: RoundState, current: RoundQuestion | None) -> bool:
    """Whether the class must not see the votes yet, because it may vote again."""
    return votes_twice(record, current) and state.vote == 1 and state.phase in ("closed", "discussing")


def votes(participants: Participants, current: RoundQuestion, phase: str) -> dict[str, Any]:
    """The first vote for the host alone: its distribution, how many are right (None: not measured yet), and whether
    talking is worth while."""
    question = current.question.id
    records = participants.answers(question if phase == "closed" else first_vote(question))
    answers = [answer.answer for answer in records]
    marks = [current.grader.right(answer) for answer in answers]
    right = None if current.question.measured or None in marks else sum(map(bool, marks))
    low, high = WORTH_TALKING
    return {
        "distribution": current.question.distribution(
            current.drawn, answers, None if right is None else current.grader.right
        ),
        "right": right,
        "of": len(answers),
        "talk": right is None or (bool(answers) and low <= right / len(answers) <= high),
    }


def players(participants: Participants, question: str | None, first: dict[str, Any] | None = None) -> str:
    """Everybody who wasn't removed, for the host, with the `first` vote where the class doesn't see it."""
    listed = [
        {
            "id": participant.id,
            "nickname": participant.nickname,
            "answered": participants.answer(question, participant.id) is not None,
            "here": bool(participant.clients),
            "points": participants.points(participant.id),
        }
        for participant in participants.present
    ]
    return dumps({"kind": "players", "players": listed, "first": first})


def names(participants: Participants, most: int = 60) -> str:
    """The latest nicknames for the projector's lobby; the newest is the last."""
    listed = [{"id": participant.id, "nickname": participant.nickname} for participant in participants.present[-most:]]
    return dumps({"kind": "names", "players": listed})


def _distribution(
    state: RoundState, current: RoundQuestion, participants: Participants, *, hidden: bool
) -> dict[str, Any] | None:
    if hidden:
        return None
    # Guesses are shown together with what was measured.
    if state.phase not in DUE and (current.question.measured or state.phase != "closed"):
        return None
    answers = [answer.answer for answer in participants.answers(current.question.id)]
    return current.question.distribution(current.drawn, answers, current.grader.right if state.phase in DUE else None)


def _first_distribution(state: RoundState, current: RoundQuestion, participants: Participants) -> dict[str, Any] | None:
    """The first vote beside the second one, once the question is explained, with both shares of right answers."""
    question = current.question.id
    if state.phase not in DUE or question not in state.voted_twice:
        return None
    first, second = participants.answers(first_vote(question)), participants.answers(question)
    answers = [answer.answer for answer in first]
    return {
        "distribution": current.question.distribution(current.drawn, answers, current.grader.right),
        "right": [sum(bool(answer.right) for answer in answered) for answered in (first, second)],
        "of": [len(first), len(second)],
    }


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
