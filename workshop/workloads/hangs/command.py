"""`workshop watch`."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core import processes
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.workloads.hangs.diagnosis import Diagnosis
    from workshop.workloads.hangs.sampler import Sampler

TAG = "WORKSHOP_WATCH"  # every process of a watched program
LOOK = 0.25  # seconds between looks at the progress
CONFIRM = 0.3  # seconds after which the ranks must still be as they were
# Ends what carries the tag when its input ends: whatever has ended `workshop watch`, kill -9 too.
REAPER = (
    "import sys; from workshop.core import processes; sys.stdin.read(); processes.end_all(sys.argv[1], sys.argv[2])"
)
PRELOAD = Path(__file__).parent / "preload"


def watch(
    command: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What starts the ranks.")] = None,
    after: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.5, max=10, help="How long nothing moves before it looks why.")
    ] = 5.0,
    end: Annotated[bool, typer.Option("--end", help="End a program that hangs, and answer with exit code 1.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Run a program of MPI ranks, and say why it hangs. For example: workshop watch -- mpirun -n 4 python work.py.

    The program needs no change. Its input, output and exit code stay as they are. The diagnosis comes on standard
    error. Ranks of this machine can be seen, ranks of other hosts can't. Calls that C or Horovod makes can't be seen
    either.
    """
    if not command:
        raise BadInput("watch has no command; write workshop watch -- mpirun -n 4 python work.py.")
    if shutil.which(command[0]) is None:
        raise BadInput(f"There is no program {command[0]} to watch; give the name or the path of one.")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))  # so that nothing is left
    with tempfile.TemporaryDirectory(prefix="workshop-watch-") as folder, _tree() as tag:
        watched = Watch(command, Path(folder), tag, after, end, quiet=as_json)
        code = watched.run()
        if as_json:
            diagnoses = [asdict(named) | {"seconds": seconds} for named, seconds in watched.diagnoses]
            common.answer({"command": command, "exit_code": code, "ended": watched.ended, "diagnoses": diagnoses})
    raise typer.Exit(code)


@contextmanager
def _tree() -> Iterator[str]:
    """The mark for the processes of a program, which all end with this process."""
    tag = uuid.uuid4().hex
    command = [sys.executable, "-P", "-c", REAPER, TAG, tag]
    reaper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield tag
    finally:
        reaper.communicate()


@dataclass
class Watch:
    """A program that is watched. `diagnoses` are those that were reported, each with the seconds for which nothing had
    moved; `ended` says whether it was ended for one."""

    command: list[str]
    folder: Path
    tag: str
    after: float
    end: bool
    quiet: bool
    diagnoses: list[tuple[Diagnosis, float]] = field(default_factory=list)
    ended: bool = False

    def run(self) -> int:
        """Run it to its end; returns the exit code."""
        from workshop.workloads.hangs import recorder
        from workshop.workloads.hangs.sampler import Sampler

        path = os.pathsep.join(filter(None, [str(PRELOAD), os.environ.get("PYTHONPATH")]))
        stall = {"HOROVOD_STALL_CHECK_TIME_SECONDS": str(math.ceil(self.after))}  # Horovod says who lacks a tensor
        variables = {TAG: self.tag, recorder.FOLDER: str(self.folder), "PYTHONPATH": path}
        environment = {**stall, **os.environ, **variables}
        program = subprocess.Popen(self.command, env=environment)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
        sampler = Sampler(program.pid, self.folder)
        progress, lines, reported = sampler.progress(), tuple[str, ...](), set[tuple[object, ...]]()
        moved = still = time.monotonic()
        while program.poll() is None:
            time.sleep(LOOK)
            sampler.update()
            if (now := sampler.progress()) != progress:
                progress, reported = now, set()
                moved = still = time.monotonic()
            if time.monotonic() - still < self.after:
                continue
            diagnosis = self._confirmed(sampler, progress)
            if diagnosis is not None and diagnosis.kind == "unseen" and diagnosis.lines != lines:
                lines, reported, still = diagnosis.lines, set(), time.monotonic()  # lines are all that can move
                continue
            if diagnosis is not None and diagnosis.key not in reported:
                reported.add(diagnosis.key)
                self._report(diagnosis, time.monotonic() - moved)
            if self.ended:
                processes.end_all(TAG, self.tag)
                program.wait()
                return 1
            still = time.monotonic() - self.after + (self.after if reported else 1.0)  # when it looks next
        return program.returncode if program.returncode >= 0 else 128 - program.returncode

    def _confirmed(self, sampler: Sampler, progress: dict[int, tuple[int, int]]) -> Diagnosis | None:
        """Diagnose twice; return the diagnosis if it is the same a moment later and nothing has moved."""
        from workshop.workloads.hangs.diagnosis import diagnose

        before = diagnose(sampler.states())
        time.sleep(CONFIRM)
        after = diagnose(sampler.states())
        same = before is not None and after is not None and before.key == after.key
        return after if same and sampler.progress() == progress else None

    def _report(self, diagnosis: Diagnosis, seconds: float) -> None:
        self.diagnoses.append((diagnosis, round(seconds, 3)))
        typed = diagnosis.kind == "input" and sys.stdin.isatty()  # somebody may be about to type
        self.ended |= self.end and diagnosis.hang and not typed
        if not self.quiet:
            print(diagnosis, file=sys.stderr, flush=True)
