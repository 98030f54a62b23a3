"""How far a round is, and what its host can do next. Times are seconds since the epoch, of the server's clock.

lobby -> question -> closed (-> measuring, where the answer is measured) -> explained -> ranking -> next question ...
-> podium -> ended. All functions return a new state, whose version is one higher, or raise BadInput with why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from workshop.core.errors import BadInput

Phase = Literal["lobby", "question", "closed", "measuring", "explained", "ranking", "podium", "ended"]
LONGEST = 3600.0  # seconds that a question can be open
REOPENED = 30.0  # seconds that a question is open again, where nobody says how many
_NOW = {
    "lobby": "the round has not begun",
    "question": "the question is open",
    "closed": "the question is closed and not explained yet",
    "measuring": "the answer is being measured",
    "explained": "the question is explained",
    "ranking": "the ranking is shown",
    "podium": "the podium is shown",
    "ended": "the round has ended",
}


@dataclass(frozen=True)
class RoundState:
    """`opened_at` is moved on by every pause, so that the seconds since then are those that the question was open."""

    version: int = 0
    phase: Phase = "lobby"
    position: int = -1  # of the question in the deck, from 0
    done: tuple[str, ...] = ()  # questions that were explained
    skipped: tuple[str, ...] = ()
    opened_at: float | None = None
    ends_at: float | None = None  # of the open question; of a closed one, when that was. None: paused
    left: float | None = None  # seconds that a paused question has left
    paused_at: float | None = None
    runs: Mapping[str, int] = field(default_factory=dict)  # what is being measured: name -> run
    problem: str = ""  # why measuring failed
    truths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # question -> value, words: as measured
    locked: bool = False  # nobody new gets in

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> RoundState:
        """What `as_json` gave; names that it doesn't know are left out."""
        known = {one.name for one in fields(cls)}
        given = {name: tuple(value) if name in ("done", "skipped") else value for name, value in kept.items()}
        return cls(**{name: value for name, value in given.items() if name in known})

    @property
    def paused(self) -> bool:
        return self.phase == "question" and self.left is not None

    def accepts(self, arrived: float) -> bool:
        """Whether an answer that arrived then counts; at the very end it does."""
        return self.phase == "question" and self.ends_at is not None and arrived <= self.ends_at

    def seconds(self, arrived: float) -> float:
        """How long the question had been open then."""
        return max(arrived - (self.opened_at or arrived), 0.0)


def next_(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    """Open the next question of these, for its seconds; behind the last one, the podium."""
    _only(state, "lobby", "explained", "ranking", what="go on")
    return _forward(state, questions, seconds, now)


def close(state: RoundState, now: float) -> RoundState:
    """No answers any more. A question that was due before is closed as of then."""
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
    """Go on with the time that was left."""
    _only(state, "question", what="go on with")
    if state.left is None:
        raise BadInput("The question is not paused.")
    return _new(state, ends_at=now + state.left, **_moved_on(state, now))


def extend(state: RoundState, seconds: float, now: float) -> RoundState:
    """More time for the open question, paused or not."""
    _only(state, "question", what="extend")
    _check_seconds(seconds)
    left = state.left if state.ends_at is None else state.ends_at - now
    if left is None or left + seconds > LONGEST:
        raise BadInput(f"A question can't have more than {LONGEST:.0f} s left.")
    if state.ends_at is None:
        return _new(state, left=left + seconds)
    if left < 0:
        raise BadInput("The question's time is up; open it again to give more.")
    return _new(state, ends_at=state.ends_at + seconds)


def reopen(state: RoundState, now: float, seconds: float = REOPENED) -> RoundState:
    """More time for those who have not answered a question that is closed; what was answered stays."""
    if state.phase in ("explained", "ranking"):
        raise BadInput("The question is explained: everybody has seen the answer, so it can't be opened again.")
    _only(state, "closed", what="open again")
    _check_seconds(seconds)
    was_open = (state.ends_at or now) - (state.opened_at or now)
    return _new(state, phase="question", ends_at=now + seconds, left=None, opened_at=now - was_open)


def run(state: RoundState, runs: Mapping[str, int]) -> RoundState:
    """The answer is being measured by these runs; again, where it failed before."""
    if state.phase == "measuring" and not state.problem:
        raise BadInput("It is being measured already.")
    _only(state, "closed", "measuring", what="measure")
    return _new(state, phase="measuring", runs=dict(runs), problem="")


def failed(state: RoundState, problem: str) -> RoundState:
    """Measuring came to nothing; the host runs again, or skips."""
    _only(state, "measuring", what="measure")
    return _new(state, problem=problem)


def explain(state: RoundState, question: str, truth: Mapping[str, Any] | None = None) -> RoundState:
    """Show what is right and what everybody's answer was worth. A measured question needs its `truth`."""
    _only(state, *(("measuring",) if truth is not None else ("closed",)), what="explain")
    truths = {**state.truths, question: dict(truth)} if truth is not None else state.truths
    return _new(state, phase="explained", done=(*state.done, question), truths=truths, runs={}, problem="")


def skip(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    """Leave a question out, with no points for anybody, and open the next one."""
    _only(state, "question", "closed", "measuring", what="skip")
    left_out = replace(state, skipped=(*state.skipped, questions[state.position]))
    return _forward(left_out, questions, seconds, now)


def ranking(state: RoundState) -> RoundState:
    _only(state, "explained", what="rank")
    return _new(state, phase="ranking")


def podium(state: RoundState) -> RoundState:
    """Show who was best; also before the last question."""
    _only(state, "explained", "ranking", what="show the podium")
    return _new(state, phase="podium")


def end(state: RoundState) -> RoundState:
    """End the round, from wherever it is."""
    if state.phase == "ended":
        raise BadInput("The round has ended already.")
    return _new(state, phase="ended", ends_at=None, left=None, paused_at=None, runs={}, problem="")


def lock(state: RoundState, locked: bool) -> RoundState:
    """Let nobody new in from now on (`locked`), or everybody again; who has joined can come back in any case."""
    if state.phase == "ended":
        raise BadInput("The round has ended already; nobody can join it.")
    return _new(state, locked=locked)


def possible(state: RoundState, *, measured: bool, ranked: bool, last: bool) -> tuple[str, ...]:
    """What the host can do now; `measured`: with a question whose answer is measured, `ranked`: with rankings."""
    match state.phase:
        case "lobby":
            found: tuple[str, ...] = ("next",)
        case "question":
            found = ("close", "resume" if state.paused else "pause", "extend", "skip")
        case "closed":
            found = ("run" if measured else "explain", "reopen", "skip")
        case "measuring":
            found = ("run", "skip") if state.problem else ("skip",)
        case "explained":
            found = ("ranking", "next", "podium") if ranked else ("next", "podium")
        case "ranking":
            found = ("next", "podium")
        case _:
            found = ()
    if last:
        found = tuple(name for name in found if name != "podium")  # `next` leads there
    return found if state.phase == "ended" else (*found, "end")


def _forward(state: RoundState, questions: Sequence[str], seconds: Sequence[float], now: float) -> RoundState:
    fresh = replace(state, opened_at=None, ends_at=None, left=None, paused_at=None, runs={}, problem="")
    if state.position + 1 >= len(questions):
        return _new(fresh, phase="podium")
    position = state.position + 1
    return _new(fresh, phase="question", position=position, opened_at=now, ends_at=now + seconds[position])


def _new(state: RoundState, **changes: Any) -> RoundState:
    return replace(state, version=state.version + 1, **changes)


def _moved_on(state: RoundState, now: float) -> dict[str, Any]:
    """What changes when a pause is over."""
    paused = now - (state.paused_at or now)
    return {"left": None, "paused_at": None, "opened_at": (state.opened_at or now) + paused}


def _only(state: RoundState, *phases: str, what: str) -> None:
    if state.phase not in phases:
        raise BadInput(f"The host can't {what} now: {_NOW[state.phase]}.")


def _check_seconds(seconds: Any) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= LONGEST:
        raise BadInput(f"The time is {seconds!r}; it should be 1 to {LONGEST:.0f} seconds.")
