"""Live rounds with a class: their states, the host's possible actions, points and rankings, as pure functions. The
rooms are in `workshop.web.quiz`. Times are seconds since the epoch, of the server's clock.

lobby -> question -> closed (-> discussing -> question -> closed) (-> measuring, for a prediction) -> explained
-> ranking -> next question ... -> podium -> ended. `discussing` is for peer instruction, with a second vote on the same
question (Mazur, Peer instruction: A user's manual, 1997). All functions return a new state, whose version is one
higher, or raise BadInput with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from workshop.core.errors import BadInput

Phase = Literal["lobby", "question", "closed", "discussing", "measuring", "explained", "ranking", "podium", "ended"]
LONGEST_QUESTION = 3600.0  # seconds that a question can be open
TALK = 120.0  # default of the seconds for which learners talk before the second vote
# Shares of right answers between which talking helps most (Crouch and Mazur, Peer instruction: Ten years of experience
# and results, American Journal of Physics 69, 2001, section II).
WORTH_TALKING = (0.35, 0.7)
REOPENED = 30.0  # default of the seconds for which a question is opened again
_NOW = {
    "lobby": "the round has not begun",
    "question": "the question is open",
    "closed": "the question is closed and not explained yet",
    "discussing": "learners talk about the question",
    "measuring": "the answer is being measured",
    "explained": "the question is explained",
    "ranking": "the ranking is shown",
    "podium": "the podium is shown",
    "ended": "the round has ended",
}


@dataclass(frozen=True)
class RoundState:
    """The state of a round. Each pause moves `opened_at` forward by its length, so pauses don't count as open time."""

    version: int = 0
    phase: Phase = "lobby"
    position: int = -1  # index of the question in the deck
    vote: int = 1  # 2 from the end of the talk on
    voted_twice: tuple[str, ...] = ()  # questions whose first vote is set aside
    done: tuple[str, ...] = ()  # explained questions
    skipped: tuple[str, ...] = ()
    opened_at: float | None = None
    ends_at: float | None = None  # end of the open question, or the time at which it was closed; None: paused
    left: float | None = None  # remaining seconds of a paused question
    paused_at: float | None = None
    runs: Mapping[str, int] = field(default_factory=dict)  # the runs that measure the answer: name -> run id
    problem: str = ""  # why measuring failed
    truths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # question -> value, words: as measured
    locked: bool = False  # new people can't join

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RoundState:
        """The state from the document of `as_json`; unknown names are ignored."""
        names = document.keys() & {attribute.name for attribute in fields(cls)}
        lists = {name: tuple(document[name]) for name in names & {"done", "skipped", "voted_twice"}}
        return cls(**{name: document[name] for name in names} | lists)

    @property
    def paused(self) -> bool:
        return self.phase == "question" and self.left is not None

    def accepts(self, arrived: float) -> bool:
        """Whether an answer that arrived at this time counts; the end itself is in time."""
        return self.phase == "question" and self.ends_at is not None and arrived <= self.ends_at

    def seconds(self, arrived: float) -> float:
        """How long the question had been open at this time."""
        return max(arrived - (self.opened_at or arrived), 0.0)


def first_vote(question: str) -> str:
    """The name under which the answers of a question's first vote are kept, once there is a second vote."""
    return f"{question}#1"


def ballot(question: str, vote: int) -> str:
    """The name of a question's vote in messages. An answer to the first vote that comes late can't count as one of the
    second vote."""
    return question if vote == 1 else f"{question}#{vote}"


def next_(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    """Open the next question for its number of seconds; after the last question, show the podium."""
    _only(state, "lobby", "explained", "ranking", what="go on")
    return _forward(state, questions, seconds, now)


def close(state: RoundState, now: float) -> RoundState:
    """Close the question. If its time was up before, the end of its time stays the closing time."""
    _only(state, "question", what="close")
    if state.ends_at is None:
        return _new(state, phase="closed", ends_at=now, **_moved_on(state, now))
    return _new(state, phase="closed", ends_at=min(now, state.ends_at))


def due(state: RoundState, now: float) -> bool:
    """Whether the time of the open question is up."""
    return state.phase == "question" and state.ends_at is not None and now > state.ends_at


def pause(state: RoundState, now: float) -> RoundState:
    """Stop the clock; answers wait until it goes on."""
    _only(state, "question", what="pause")
    if state.paused or state.ends_at is None:
        raise BadInput("The question is paused already.")
    if now >= state.ends_at:
        raise BadInput("The question's time is up; there is nothing to pause.")
    return _new(state, ends_at=None, left=state.ends_at - now, paused_at=now)


def resume(state: RoundState, now: float) -> RoundState:
    """Go on with the remaining time."""
    _only(state, "question", what="go on with")
    if state.left is None:
        raise BadInput("The question is not paused.")
    return _new(state, ends_at=now + state.left, **_moved_on(state, now))


def extend(state: RoundState, seconds: float, now: float) -> RoundState:
    """Give the open question more time, paused or not; or the talk."""
    _only(state, "question", "discussing", what="extend")
    _check_seconds(seconds)
    remaining = state.left if state.ends_at is None else state.ends_at - now
    if remaining is None or remaining + seconds > LONGEST_QUESTION:
        raise BadInput(f"A question can't have more than {LONGEST_QUESTION:.0f} s left.")
    if state.ends_at is None:
        return _new(state, left=remaining + seconds)
    if remaining < 0 and state.phase == "question":
        raise BadInput("The question's time is up; open it again to give more.")
    return _new(state, ends_at=max(state.ends_at, now) + seconds)


def reopen(state: RoundState, now: float, seconds: float = REOPENED) -> RoundState:
    """Open a closed question again for people who have not answered; existing answers stay."""
    if state.phase in ("explained", "ranking"):
        raise BadInput("The question is explained: everybody has seen the answer, so it can't be opened again.")
    _only(state, "closed", what="open again")
    _check_seconds(seconds)
    was_open = (state.ends_at or now) - (state.opened_at or now)
    return _new(state, phase="question", ends_at=now + seconds, left=None, opened_at=now - was_open)


def discuss(state: RoundState, question: str, now: float, seconds: float = TALK) -> RoundState:
    """Set the first vote aside and have learners talk; the second vote begins with `vote_again`."""
    _only(state, "closed", what="have learners talk")
    if state.vote > 1:
        raise BadInput("The class has voted twice on this question; show the answer.")
    _check_seconds(seconds)
    return _new(state, phase="discussing", ends_at=now + seconds, voted_twice=(*state.voted_twice, question))


def vote_again(state: RoundState, seconds: float, now: float) -> RoundState:
    """Open the question for its second vote."""
    _only(state, "discussing", what="open the second vote")
    return _new(state, phase="question", vote=2, opened_at=now, ends_at=now + seconds, left=None)


def run(state: RoundState, runs: Mapping[str, int]) -> RoundState:
    """Measure the answer with these runs, also after a failed attempt."""
    if state.phase == "measuring" and not state.problem:
        raise BadInput("It is being measured already.")
    _only(state, "closed", "measuring", what="measure")
    return _new(state, phase="measuring", runs=dict(runs), problem="")


def failed(state: RoundState, problem: str) -> RoundState:
    """Measuring failed; the host can run again or skip."""
    _only(state, "measuring", what="measure")
    return _new(state, problem=problem)


def explain(state: RoundState, question: str, truth: Mapping[str, Any] | None = None) -> RoundState:
    """Show the right answer, and the points of each player. A measured question needs its `truth`."""
    _only(state, *(("measuring",) if truth is not None else ("closed",)), what="explain")
    truths = {**state.truths, question: dict(truth)} if truth is not None else state.truths
    return _new(state, phase="explained", done=(*state.done, question), truths=truths, runs={}, problem="")


def skip(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    """Leave a question out, without points, and open the next one."""
    _only(state, "question", "closed", "discussing", "measuring", what="skip")
    left_out = replace(state, skipped=(*state.skipped, questions[state.position]))
    return _forward(left_out, questions, seconds, now)


def ranking(state: RoundState) -> RoundState:
    _only(state, "explained", what="rank")
    return _new(state, phase="ranking")


def podium(state: RoundState) -> RoundState:
    """Show the best players; also before the last question."""
    _only(state, "explained", "ranking", what="show the podium")
    return _new(state, phase="podium")


def end(state: RoundState) -> RoundState:
    """End the round, in any phase."""
    if state.phase == "ended":
        raise BadInput("The round has ended already.")
    return _new(state, phase="ended", ends_at=None, left=None, paused_at=None, runs={}, problem="")


def lock(state: RoundState, locked: bool) -> RoundState:
    """Lock the round for new people, or open it. People who have joined can always come back."""
    if state.phase == "ended":
        raise BadInput("The round has ended already; nobody can join it.")
    return _new(state, locked=locked)


def possible(state: RoundState, *, measured: bool, ranked: bool, last: bool, twice: bool = False) -> tuple[str, ...]:
    """The host's possible actions. `measured`: the question's answer is measured; `ranked`: the round has rankings;
    `twice`: the class may vote twice on the question."""
    actions: dict[str, tuple[str, ...]] = {
        "lobby": ("next",),
        "question": ("close", "resume" if state.paused else "pause", "extend", "skip"),
        "closed": ("discuss", "run" if measured else "explain", "reopen", "skip"),
        "discussing": ("vote", "extend", "skip"),
        "measuring": ("run", "skip"),
        "explained": ("ranking", "next", "podium"),
        "ranking": ("next", "podium"),
    }
    unwanted = {
        "discuss": not (twice and state.vote == 1),
        "run": state.phase == "measuring" and not state.problem,
        "ranking": not ranked,
        "podium": last,  # `next` shows it
        "end": state.phase == "ended",
    }
    return tuple(name for name in (*actions.get(state.phase, ()), "end") if not unwanted.get(name))


def _forward(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    fresh = replace(state, vote=1, opened_at=None, ends_at=None, left=None, paused_at=None, runs={}, problem="")
    position = state.position + 1
    if position >= len(questions):
        return _new(fresh, phase="podium")
    return _new(fresh, phase="question", position=position, opened_at=now, ends_at=now + seconds[position])


def _new(state: RoundState, **changes: Any) -> RoundState:
    return replace(state, version=state.version + 1, **changes)


def _moved_on(state: RoundState, now: float) -> dict[str, Any]:
    """The changes at the end of a pause."""
    paused = now - (state.paused_at or now)
    return {"left": None, "paused_at": None, "opened_at": (state.opened_at or now) + paused}


def _only(state: RoundState, *phases: str, what: str) -> None:
    if state.phase not in phases:
        raise BadInput(f"The host can't {what} now: {_NOW[state.phase]}.")


def _check_seconds(seconds: Any) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= LONGEST_QUESTION:
        raise BadInput(f"The time is {seconds!r}; it should be 1 to {LONGEST_QUESTION:.0f} seconds.")


def points(share: float, right: bool | None, worth: float, seconds: float, limit: float, *, speed_bonus: bool) -> float:
    """The points of an answer: its right share times what the question is `worth`. With `speed_bonus`, a right answer
    gets a bonus that falls in a straight line from half of its points to nothing after `limit` seconds, the question's
    own time limit: time that the host adds gives no bonus."""
    earned = share * worth
    if speed_bonus and right and limit > 0:
        earned *= 1 + 0.5 * max(1 - seconds / limit, 0.0)
    return round(earned, 3)


def rules(*, speed_bonus: bool) -> str:
    """How points count, in words."""
    rule = "A right answer gives the question's points, and a partly right answer gives a share of them. "
    if not speed_bonus:
        return rule + "Speed doesn't matter."
    return rule + (
        "Speed counts as well: an immediate right answer gives half as much again. This bonus falls in a straight line "
        "to nothing at the end of the question's time. Predictions get no bonus."
    )


@dataclass(frozen=True)
class Ranking:
    """Players by points. Place 1 is the best; players with equal points share a place, as in 1, 2, 2, 4."""

    order: tuple[int, ...]  # players, the best first
    places: Mapping[int, int]
    points: Mapping[int, float]

    def top(self, nicknames: Mapping[int, str]) -> list[dict[str, Any]]:
        return [
            {"place": self.places[player], "nickname": nicknames[player], "points": self.points[player]}
            for player in self.order[:10]
        ]


def rank(points: Mapping[int, float]) -> Ranking:
    """Rank players by their points; players with equal points keep their order."""
    rounded = {player: round(value, 3) for player, value in points.items()}
    order = tuple(sorted(rounded, key=lambda player: -rounded[player]))
    values = sorted(rounded.values(), reverse=True)
    return Ranking(order, {player: values.index(rounded[player]) + 1 for player in order}, rounded)
