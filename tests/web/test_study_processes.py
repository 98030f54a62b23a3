"""Studies that are run from the dashboard, by real processes: they outlive the thread that asked for them, and nothing
else that they should not."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from tests.live_session import Session
from tests.study.conftest import own_lock, session
from tests.study.test_runner import study_of, working
from tests.support import limit, until
from tests.web import seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.store.records import Identity, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.web import study_processes
from workshop.web.study_processes import Runners

__all__ = ["own_lock", "session"]
pytestmark = pytest.mark.real

INSTRUCTOR = Identity(1, "instructor", "Ina", 0.0)
LEARNER = Identity(2, "learner", "Leo", 0.0)
PARENT = """
import sys, time
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.study_processes import Runners
store = Store.open()
started = Runners().start(store, Identity(1, "instructor", "Ina", 0.0), int(sys.argv[1]), store.session("test"))
print(started.process.pid, flush=True)
time.sleep(600)
"""


def trial(number: int, seconds: float) -> Trial:
    return Trial(number, f"trial {number}", {"seconds": seconds}, Placement(ranks=1).as_json(), 1)


def test_a_study_that_is_about_to_begin_is_not_begun_in_another_session(workshop_home: Path) -> None:
    here = Runners()
    with Store.open() as store, seed.alive(store, "class") as session, subprocess.Popen(["sleep", "30"]) as process:
        study = study_of(store, trial(1, 0.1))
        here._known[study.id] = study_processes.StudyProcess(study.id, "another", process, workshop_home / "log")
        with pytest.raises(BadInput, match="goes on already"):
            here.start(store, INSTRUCTOR, study.id, session)
        process.kill()
    assert here._known[study.id].session == "another", "it can still be stopped"


def test_started_by_a_thread_that_ends_stopped_killed_with_the_dashboard_and_gone_on_with(session: Session) -> None:
    store, here = session.store, Runners()
    study = study_of(store, trial(1, 10.0), trial(2, 0.3))
    assert store.study(study.id).state == "prepared"
    with pytest.raises(BadInput, match="Only the instructor"):
        here.start(store, LEARNER, study.id, session.now)

    # Streamlit draws pages in threads that end at once.
    started: list[study_processes.StudyProcess] = []
    drawing = threading.Thread(target=lambda: started.append(here.start(store, INSTRUCTOR, study.id, session.now)))
    drawing.start()
    drawing.join()
    (running,) = started
    run = working(store, 1)
    assert running.process.poll() is None and store.study(study.id).state == "running"
    other = study_of(store, trial(1, 0.1))
    with pytest.raises(BadInput, match=f"Study {study.id} goes on in session test"):
        here.start(store, INSTRUCTOR, other.id, session.now)
    with pytest.raises(BadInput, match="goes on already"):
        here.start(store, INSTRUCTOR, study.id, session.now)
    with pytest.raises(BadInput, match="Only the instructor"):
        here.stop(LEARNER, study.id)
    with pytest.raises(BadInput, match="not run by this dashboard"):
        Runners().stop(INSTRUCTOR, study.id)

    here.stop(INSTRUCTOR, study.id)
    running.process.wait(limit(60))
    assert running.process.returncode == 130 and not running.failed
    assert not psutil.pid_exists(running.process.pid), "no zombie is left"
    assert store.run(run.id).status == "cancelled"
    assert store.study(study.id).state == "interrupted"

    # kill -9 of the dashboard ends it, too.
    dashboard = subprocess.Popen([sys.executable, "-c", PARENT, str(study.id)], stdout=subprocess.PIPE, text=True)
    assert dashboard.stdout is not None
    child = psutil.Process(int(dashboard.stdout.readline()))
    working(store, 2)
    dashboard.kill()
    dashboard.communicate(timeout=limit(60))
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 60, "its study's process to end")
    until(lambda: store.study(study.id).state == "interrupted", 60, "the study to read interrupted")

    # It can be gone on with, in the same session: what was left running isn't run again.
    again = here.start(store, INSTRUCTOR, study.id, session.now)
    again.process.wait(limit(120))
    assert (again.process.returncode, again.failed) == (0, "")
    assert store.study(study.id).state == "completed"
    assert [run.status for run in reversed(store.runs())] == ["cancelled", "completed", "completed"]
    assert runner.missing(*runner.read(store, study.id)) == []


def test_one_that_fails_says_why(session: Session) -> None:
    store, here = session.store, Runners()
    gone = store.create_study("scaling", "nonsense", {"weak": False, "rate": "x", "unit": "x"}, [trial(1, 0.1)])
    running = here.start(store, INSTRUCTOR, gone.id, session.now)
    running.process.wait(limit(60))
    assert "There is no workload 'nonsense'" in running.failed

    store.update_session(session.record.id, state="stopped")
    with pytest.raises(BadInput, match="Session test is stopped"):
        here.start(store, INSTRUCTOR, gone.id, store.session(session.record.id))
