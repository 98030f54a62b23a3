"""A class in the room: its pace with a timer, requests for help, and its roster. Pages hide what only the instructor
may do, these functions refuse it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from workshop.course import learner
from workshop.course.progress import Outline
from workshop.store.records import Identity
from workshop.store.sessions import refuse_in
from workshop.store.store import Store
from workshop.web import auth_middleware
from workshop.web.actions import only_instructor
from workshop.web.auth import ADMISSION, CLASS_CODE

KEY = "class_pace"  # of the store's settings
PINNED = "projector_run"  # of the store's settings
LONGEST_TIMER = 600  # minutes


@dataclass(frozen=True)
class Pace:
    """The lab and the step of it at which the class is, and the end of the timer; "" and None where none is set."""

    lab: str = ""
    title: str = ""  # of the lab, as pages show it
    step: str = ""  # an exercise of the lab; "": the lab as a whole
    part: int = 1  # the section of the lab that links lead to
    until: float | None = None  # seconds since the epoch

    @property
    def words(self) -> str:
        """A sentence for everybody; "" where the class is nowhere in particular."""
        step = f", exercise {self.step}" if self.step else ""
        return f"The class is at lab {self.title}{step}." if self.lab else ""


@dataclass(frozen=True)
class ClassState:
    """The state of the class at this moment."""

    code: str
    learners: int  # of the class
    present: int
    waiting: frozenset[int]  # learners who ask for help
    run_id: int | None  # of the run that goes on in a session of the class
    round_code: str  # with which learners join the newest live quiz that goes on; "" without one
    pace: Pace


def look(store: Store) -> ClassState:
    """Read the state of the class."""
    attendances, now = store.attendances(), time.time()
    running = store.runs(status="running", limit=10)
    public = {session.id for session in store.sessions() if not session.private}
    rounds = store.rounds("live", going_on=True)
    run = next((run for run in running if run.session_id in public), None)
    return ClassState(
        store.setting(CLASS_CODE) or "",
        len(attendances),
        sum(auth_middleware.is_present(attendance, now) for attendance in attendances),
        frozenset(attendance.id for attendance in attendances if attendance.help_asked_at is not None),
        run.id if run is not None else None,
        (rounds[0].code or "") if rounds else "",
        pace(store),
    )


def pace(store: Store) -> Pace:
    """Where the class is."""
    text = store.setting(KEY)
    return Pace(**json.loads(text)) if text else Pace()


def set_pace(
    store: Store, identity: Identity, labs: Sequence[Outline], lab: str, step: str = "", part: int = 1
) -> None:
    """Set the lab, its step and its section at which the class is; the timer goes on. A lab "" takes the pace back."""
    only_instructor(identity)
    title = next((outline.label for outline in labs if outline.name == lab), "")
    _keep(store, replace(pace(store), lab=lab, title=title, step=step, part=part))


def set_timer(store: Store, identity: Identity, minutes: float | None) -> None:
    """Start a timer of so many minutes that everybody sees; None ends it."""
    only_instructor(identity)
    _keep(store, replace(pace(store), until=None if minutes is None else time.time() + 60 * minutes))


def pinned_run(store: Store) -> int | None:
    """The number of the run that the projector shows until another one is pinned; None where it follows the class."""
    text = store.setting(PINNED)
    return int(text) if text else None


def pin_run(store: Store, identity: Identity, run_id: int | None) -> None:
    """Have the projector show a run, or follow the class again. Raises BadInput for a run that isn't there."""
    only_instructor(identity)
    refuse_in(store.database)
    if run_id is not None:
        store.run(run_id)
    store.set_setting(PINNED, "" if run_id is None else str(run_id))


def _keep(store: Store, new_pace: Pace) -> None:
    refuse_in(store.database)
    store.set_setting(KEY, json.dumps(asdict(new_pace)))


def need_help(store: Store, identity: Identity, needed: bool) -> None:
    """Ask the instructor for help, or say that it isn't needed any more."""
    refuse_in(store.database)
    store.keep_help(identity.id, needed)
    page = auth_middleware.PRESENCE.page(identity)
    where = f" on the page {page}" if page else ""
    auth_middleware.PRESENCE.act(identity, f"asked for help{where}" if needed else "needs no help any more")


def answer_help(store: Store, identity: Identity, learner_id: int) -> None:
    """Mark a learner's request for help as answered."""
    only_instructor(identity)
    store.keep_help(learner_id, False)


def is_open(store: Store) -> bool:
    """Whether new learners may join the class."""
    return store.setting(ADMISSION) != "closed"


def set_admission(store: Store, identity: Identity, is_open: bool) -> None:
    """Open the class for new learners, or close it; who is in stays in."""
    only_instructor(identity)
    refuse_in(store.database)
    store.set_setting(ADMISSION, "open" if is_open else "closed")


def cancel_runs(store: Store, identity: Identity, learner_id: int) -> int:
    """Cancel all unfinished runs of a learner. Returns how many."""
    only_instructor(identity)
    refuse_in(store.database)
    return store.request_cancel_all(learner_id)


def put_out(store: Store, identity: Identity, learner_id: int) -> None:
    """Cancel a learner's runs and make the learner's cookie invalid."""
    cancel_runs(store, identity, learner_id)
    store.log_out(learner_id)


def remove_roster(store: Store, identity: Identity) -> None:
    """Delete all learners and their progress; runs and answers stay without names."""
    only_instructor(identity)
    refuse_in(store.database)
    store.remove_learners(learner.name())
