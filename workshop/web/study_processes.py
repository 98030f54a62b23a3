"""Studies that are run from the dashboard: each by a process of its own, which ends with the dashboard.

The process is `workshop study resume`, so whatever becomes of it, the study can be gone on with. The kernel ends it
when the thread that started it ends (prctl(2): the "parent" of PR_SET_PDEATHSIG is a thread), and Streamlit's threads
live as long as a page is drawn; so one thread of this module, which stays, starts them all.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.parent_death import guarded
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store
from workshop.web.actions import only_instructor

LAST_LINES = 3  # lines of its log that are shown of one that failed


@dataclass
class StudyProcess:
    """The process of a study, and its end."""

    study_id: int
    session: str
    process: subprocess.Popen[bytes]
    log: Path
    stopping: bool = False

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def failed(self) -> str:
        """Its last words, where it ended otherwise than well or by being asked to; else empty."""
        if not self.ended or self.stopping or self.process.returncode in (0, 130):
            return ""
        with suppress(OSError):
            lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            if lines:
                return " ".join(lines[-LAST_LINES:])
        return f"Its command ended with exit code {self.process.returncode}."


class Runners:
    """The processes that this dashboard has started, the last one for each study; any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[int, StudyProcess] = {}
        self._lock = threading.Lock()
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="studies")

    def start(self, store: Store, identity: Identity, study_id: int, session: SessionRecord) -> StudyProcess:
        """Go on with a study in a session; returns at once. Raises BadInput: for learners, for a session that isn't
        up, and where a study goes on already."""
        only_instructor(identity)
        if not session.up:
            raise BadInput(f"Session {session.name} is {session.state}; launch it first.")
        study = store.study(study_id)
        with self._lock:
            earlier = self._known.get(study.id)
            if study.state == "running" or (earlier is not None and not earlier.ended):  # or is about to begin
                raise BadInput(f"Study {study.id} goes on already.")
            for process in self._known.values():
                if process.session == session.name and not process.ended:  # the trials of two would wait for each other
                    other = f"Study {process.study_id} goes on in session {session.name}"
                    raise BadInput(f"{other}; stop it, or wait until it is done.")
            log = config.home() / "studies" / f"{study.id}.log"
            log.parent.mkdir(mode=0o700, exist_ok=True)
            spawned = self._starter.submit(_spawn, study.id, session.name, log).result()
            running = self._known[study.id] = StudyProcess(study.id, session.name, spawned, log)
        # Whoever starts a process has to take note of its end, or it stays in the process table.
        threading.Thread(target=spawned.wait, name=f"study {study.id}", daemon=True).start()
        return running

    def stop(self, identity: Identity, study_id: int) -> None:
        """Ask a study's process to end, as Ctrl-C does; returns at once. Raises BadInput for learners, and where this
        dashboard doesn't run that study."""
        only_instructor(identity)
        running = self.find(study_id)
        if running is None or running.ended:
            raise BadInput(
                f"Study {study_id} is not run by this dashboard, so it can't be stopped here; whoever runs it can "
                "with Ctrl-C."
            )
        if not running.stopping:
            running.stopping = True
            running.process.send_signal(signal.SIGINT)

    def find(self, study_id: int) -> StudyProcess | None:
        """The process that runs, or last ran, a study from here."""
        with self._lock:
            return self._known.get(study_id)


# SIGINT stops a study. A program that a shell has started in the background would ignore it.
RESUMES = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from workshop.cli import main; main()"
)


def _spawn(study_id: int, session: str, log: Path) -> subprocess.Popen[bytes]:
    words = ["study", "resume", str(study_id), "--session", session]
    command = guarded([sys.executable, "-P", "-c", RESUMES, *words])
    with open(log, "wb") as out:
        # A session of its own: a terminal's Ctrl-C is for whoever runs the dashboard.
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)


RUNNERS = Runners()
