"""Plain, frozen records of the store. Times are seconds since the epoch (UTC)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

RunStatus = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]
SessionState = Literal["starting", "ready", "running", "restarting", "stopped", "failed", "lost", "recorded"]
StudyState = Literal["prepared", "running", "interrupted", "completed", "failed", "recorded"]
Role = Literal["instructor", "learner", "player"]  # a player came in by the code of a quiz, and sees that only

ENDED: frozenset[str] = frozenset({"completed", "failed", "cancelled", "interrupted"})


class Total(NamedTuple):
    """What the events of one name and rank come to; `least` and `most` are None where that isn't known."""

    number: int  # of events
    sum: float
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of a learner's run; the instructor sets them for each session."""

    ranks: int = 8
    threads: int = 8  # per rank
    minutes: float = 10.0  # of one run
    queued: int = 3  # unfinished runs of one learner
    total: int = 400  # unfinished runs of all learners together
    everybody: bool = False  # whether the minutes hold for all runs, not only for learners'


@dataclass(frozen=True)
class SessionRecord:
    """A launched cluster, and its conductor's last report."""

    id: int
    name: str
    state: SessionState  # "lost" is derived: the conductor's heartbeat has gone silent
    message: str  # one sentence: what it is doing, or why it failed
    placement: dict[str, Any]  # the session's own placement, for runs that bring none
    limits: Limits
    private: bool  # belongs to one command or notebook and ends with it
    machine: dict[str, Any]  # topology of the host, see workshop.core.topology
    rank_map: dict[str, Any] | None  # of the engines that are up now, see workshop.core.rank_map
    conductor_pid: int | None
    heartbeat_at: float | None
    created_at: float
    stop_requested: bool
    reset_requested: bool
    site: dict[str, Any]  # where its ranks run: `kind`, and what that kind needs; see workshop.sessions.launchers.site

    @property
    def up(self) -> bool:
        """Whether it takes runs, or soon will."""
        return self.state not in ("stopped", "failed", "lost", "recorded")


@dataclass(frozen=True)
class RunRecord:
    """One workload with params on one placement. `status` is as read: a run without a living conductor reads
    `interrupted`."""

    id: int
    session_id: int
    session: str  # the session's name
    workload: str
    status: RunStatus
    params: dict[str, Any]
    placement: dict[str, Any]
    submitted_by: str  # nickname; "" for the command line
    identity_id: int | None  # who submitted it, where it came through the dashboard
    measured: bool
    rank_map: dict[str, Any] | None
    machine: dict[str, Any] | None
    metrics: dict[str, Any]
    verdict: dict[str, str] | None  # verdict, why, next
    error: dict[str, Any] | None  # rank, host, type, message, traceback
    notices: list[str]  # what the platform noticed, e.g. lost event batches
    progress: tuple[float, float] | None  # done, total
    queued_at: float
    started_at: float | None
    finished_at: float | None
    cancel_requested: bool
    # What it does: `words`, from the first progress on how much was `done` `at` that moment, and in `phases` by rank
    # name and begin of a phase that lasts, None for short ones.
    activity: dict[str, Any] | None = None
    kill_requested: list[int] | None = None  # ranks that somebody wants to see killed, in the order of the requests

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def as_json(self) -> dict[str, Any]:
        """The run as the command line and exports show it."""
        names = (
            "id session workload status params placement submitted_by measured rank_map metrics verdict error "
            "notices queued_at started_at finished_at"
        )
        return {name: getattr(self, name) for name in names.split()}


@dataclass(frozen=True)
class Event:
    """One value that one rank told."""

    rank: int
    time: float
    name: str
    step: int | None
    value: float  # may be NaN
    id: int = 0  # counts from 1 within its run; `events(run_id, after=id)` gives those behind it


@dataclass(frozen=True)
class Series:
    """The events of one name and rank, thinned for a plot: each point stands for the events in one span of steps."""

    name: str
    rank: int
    count: int  # events behind the points
    steps: list[int] = field(default_factory=list)  # last step of each span
    times: list[float] = field(default_factory=list)  # last time of each span
    lows: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Artifact:
    """A file that a run made or was given. `data` is None in listings."""

    name: str
    media_type: str
    sha256: str
    size: int  # bytes
    created_at: float
    data: bytes | None = None


@dataclass(frozen=True)
class Identity:
    """Somebody who came in through the dashboard's door."""

    id: int
    role: Role
    nickname: str
    created_at: float


@dataclass(frozen=True)
class Attendance:
    """A learner of the class, and what the dashboard knows of their presence."""

    id: int
    nickname: str
    created_at: float
    seen_at: float | None = None  # when a page of theirs was last open
    action: str | None = None  # the last one
    acted_at: float | None = None
    help_asked_at: float | None = None  # None: they need no help


@dataclass(frozen=True)
class Trial:
    """One run that a study wants: a cell of its grid, once. Trials of the same cell have the same label."""

    number: int  # counts from 1, in the order in which they are run
    label: str
    params: dict[str, Any]
    placement: dict[str, Any]
    repeat: int  # counts from 1 within its cell
    run_id: int | None = None  # None until it was submitted
    error: dict[str, Any] | None = None  # type, message: why it counts as failed, where its run doesn't say so itself
    point: dict[str, Any] = field(default_factory=dict)  # where it is in its study: axis -> value
    # Why it was ended before its time (`why`), how much work it did per second (`rate`) and for how long (`seconds`).
    pruned: dict[str, Any] | None = None


@dataclass(frozen=True)
class StudyRecord:
    """Runs that are compared with each other, and how far they have come."""

    id: int
    kind: str  # for instance "scaling"
    workload: str
    description: dict[str, Any]  # what was asked for; depends on the kind
    state: StudyState  # those before "completed" are derived from the runner's heartbeat and from whether it has a run
    submitted_by: str  # nickname; "" for the command line
    created_at: float
    finished_at: float | None
    trials: int
    done: int  # trials that completed, failed or were pruned
    failed: int


@dataclass(frozen=True)
class Guess:
    """A person's guess at a result, made before they saw it."""

    about: str  # for instance "study/12/b"
    identity_id: int | None  # None: on the command line
    nickname: str
    value: Any  # as JSON has it
    created_at: float


@dataclass(frozen=True)
class QuizRound:
    """A deck that is gone through, live with a class or by people alone."""

    id: int
    kind: Literal["live", "alone"]
    code: str | None  # what learners type to join a live one
    name: str  # the deck's
    title: str
    deck: dict[str, Any]  # as it was when the round began
    deck_folder: str  # where its pictures are; "": it has none
    session: str  # where questions are measured; "": whichever is up
    seed: str  # of numbers and orders
    settings: dict[str, Any]
    state: dict[str, Any]  # how far it has come; see workshop.quiz.live
    created_at: float
    ended_at: float | None


@dataclass(frozen=True)
class QuizPlayer:
    """Somebody in a round."""

    id: int
    round_id: int
    identity_id: int | None
    attempt: int  # counts from 1: people who are alone may start over
    nickname: str  # nobody else's in this round
    joined_at: float
    removed: bool  # by the instructor: their answers stay, and don't count


@dataclass(frozen=True)
class QuizAnswer:
    """A player's answer to a question; there is one for each question."""

    round_id: int
    question: str
    player_id: int
    nickname: str  # as read; nothing is written from it
    answer: Any  # as JSON has it
    received_at: float
    seconds: float | None  # since the question was opened, pauses left out
    share: float | None = None  # of a right answer, 0 to 1; None: not judged yet
    right: bool | None = None  # None also where nothing is right, as in a poll
    points: float | None = None


@dataclass(frozen=True)
class QuizStanding:
    """How far a player has come in a round: all their answers together."""

    round_id: int
    kind: Literal["live", "alone"]
    deck: str  # its name
    player_id: int
    identity_id: int | None
    nickname: str
    answered: int
    share: float  # of right answers, 0 to 1 each, summed; what isn't judged yet and polls count nothing
    last_at: float  # when the newest answer came


@dataclass(frozen=True)
class LabProgress:
    """How far somebody has come with one thing of a lab."""

    learner: str
    lab: str
    kind: Literal["notebook", "exercise", "prediction"]
    item: str  # the exercise's or prediction's id; "" for a notebook
    state: str  # of an exercise: right, hint, empty, error or late, see workshop.course.exercise_checks; "" else
    tries: int  # checks so far
    wrong: int  # wrong checks since the last right one, without checks of an empty exercise
    said: str  # the last hint
    value: Any  # of a prediction: {"guess": ..., "measured": ...}
    began_at: float
    changed_at: float
    right_at: float | None  # when it was right for the first time
