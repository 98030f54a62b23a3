"""A session in an allocation of Slurm: one job for as long as the session lives, placements start inside it.

The job is a script that only holds the allocation. Ranks are started from the conductor by the MPI's own launcher,
which gets the allocation's variables as in an `salloc` shell, and starts its daemons on the nodes with srun. So another
placement queues for nothing. The job ends with the session: the conductor cancels it, the next start or stop of the
session does where the conductor was killed, and it ends by itself when nothing is heard of a conductor.
"""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workshop import mpi
from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.sessions.launchers.site import Launch, Reach, SiteLost, exported, with_only
from workshop.sessions.launchers.site import Site as _Site
from workshop.sessions.launchers.slurm import commands, nodes, queue, script
from workshop.sessions.launchers.slurm.commands import Job
from workshop.sessions.launchers.slurm.script import check_placement
from workshop.sessions.launchers.ssh import address_towards

JOB = "slurm-job.json"  # the session's file that says which job is its own, for whoever comes after a killed conductor
OUTPUT = "slurm-job.out"
HOLD_SCRIPT = Path(__file__).with_name("hold.sh")
EVERY = 5  # seconds between signs of life for the job, and between its looks at them
SILENCE = 60  # seconds without one after which it ends
STARTED = 60.0  # seconds within which a running job must have said so
FRESH = 1.0  # seconds for which an answer of Slurm's is new enough where ranks are silent
QUIET = 2.5  # seconds: ranks say that they live every second
FINAL, PAUSE = 4.0, 0.25  # seconds that a job which is ending gets until Slurm says how, and between questions


def site_for(placement: Placement, **chosen: str | None) -> dict[str, Any]:
    """The site of a session on Slurm, from the user's options. Raises BadInput, also where there is no Slurm."""
    commands.installed()
    return script.options(placement, **chosen)


class SlurmSite(_Site):
    """An allocation of Slurm."""

    here = False

    def __init__(self, options: Mapping[str, Any], folder: Path, placement: Placement) -> None:
        super().__init__(options, folder, placement)
        self._job: str | None = None
        self._token = secrets.token_hex(4)  # an earlier job of the session may yet begin, and has files of its own
        self._allocation: dict[str, str] = {}
        self._machine: dict[str, Any] | None = None  # of the smallest of its nodes, once they have been asked
        self._reach = Reach()
        self._lost: str | None = None
        self._looked = 0.0  # when Slurm was last asked, on the monotonic clock
        self._asking = threading.Lock()
        self._closing = threading.Event()

    # Its beginning.

    def prepare(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> None:
        commands.installed()
        (self.folder / OUTPUT).unlink(missing_ok=True)
        self._sign_of_life(0)
        self._job = self._submit()
        threading.Thread(target=self._keep, name="slurm", daemon=True).start()
        job = queue.wait(self._job, float(self.options["wait"]), say, give_up)
        if job is None or job.state != "RUNNING":  # a short one may be ending, and Slurm not know yet how
            raise WorkshopError(self._look() or self._ending(job))
        say(f"the job {self._job} runs on {job.nodes}")
        self._allocation = self._wait_for_word(give_up)
        names = commands.hostnames(self._allocation["SLURM_JOB_NODELIST"])
        address = self.options["address"] or address_towards([commands.address(name) for name in names])
        say(f"checking {', '.join(names)}")
        findings = nodes.check(self._launcher_variables(), len(names), self.folder, address, give_up)
        if findings.failures:
            raise BadInput("\n".join(findings.failures))
        if findings.notices:
            say(" ".join(findings.notices))
        self._machine = findings.machine
        self._reach = Reach(address, address)

    def _submit(self) -> str:
        name = f"workshop-{self.folder.name}-{self._token}"
        values = {
            **self.options,
            **script.shape(self.placement, self.options["nodes"]),
            "hold": shlex.join(["bash", str(HOLD_SCRIPT), str(self.folder), self._token, str(SILENCE), str(EVERY)]),
        }
        text = script.fill(self.options["template"], values)
        # Known by its name before it has a number: we may be killed in between.
        _write(self.folder / JOB, {"name": name, "job": None})
        number = commands.submit(text, self.folder, values, name, self.folder / OUTPUT)
        _write(self.folder / JOB, {"name": name, "job": number})
        return number

    def _wait_for_word(self, give_up: Callable[[], bool]) -> dict[str, str]:
        """The running job's description of its allocation."""
        deadline = time.monotonic() + STARTED
        file = self.folder / f"allocation-{self._token}"
        while not file.exists():
            queue.pause(0.05, give_up)
            if time.monotonic() - self._looked > FRESH and (lost := self._look()):
                raise WorkshopError(lost)
            if time.monotonic() > deadline:
                raise WorkshopError(
                    f"The job {self._job} runs, but {file} does not appear: the nodes should see {self.folder}; set "
                    "WORKSHOP_HOME to a folder of a file system that they share with this machine."
                )
        return dict(line.partition("=")[::2] for line in file.read_text().splitlines())

    # Its life.

    @property
    def reach(self) -> Reach:
        return self._reach

    def launch(self, placement: Placement, variables: Mapping[str, str]) -> Launch:
        check_placement(self.options, placement)
        if lost := self._look():
            raise SiteLost(lost)
        chosen = mpi.module_of(placement.mpi)
        environment = {
            **chosen.environment(placement),
            "WORKSHOP_HOME": str(config.home()),
            **self._launcher_variables(),
            **chosen.in_slurm(),
            **placement.rank_environment(),
            **variables,
        }
        # Nor does it get what another allocation has told, inside of which the session was started.
        names = exported(placement, variables) | environment.keys() | {"SLURM_CONF"}
        command = [*with_only(names), chosen.launcher()]
        return Launch(command, script.arguments(self.options, placement, self._machine), environment)

    def _launcher_variables(self) -> dict[str, str]:
        """The variables by which a launcher starts its daemons in the allocation."""
        allocation, job = self._allocation, self._allocation["SLURM_JOB_ID"]
        names, count = allocation["SLURM_JOB_NODELIST"], allocation["SLURM_JOB_NUM_NODES"]
        slots = commands.slots(allocation["SLURM_TASKS_PER_NODE"], int(allocation.get("SLURM_CPUS_PER_TASK") or 1))
        return {
            "SLURM_JOB_ID": job,
            "SLURM_JOBID": job,
            "SLURM_JOB_NODELIST": names,
            "SLURM_NODELIST": names,
            "SLURM_JOB_NUM_NODES": count,
            "SLURM_NNODES": count,
            "SLURM_TASKS_PER_NODE": slots,
            "SLURM_JOB_CPUS_PER_NODE": allocation["SLURM_JOB_CPUS_PER_NODE"],
            "SLURM_EXPORT_ENV": "ALL",  # of the little that a launcher or a command has
            "SLURM_OVERLAP": "1",  # what is left of earlier ranks must not make the next ones wait
        }

    def lost(self, silent: Mapping[str, float]) -> str | None:
        """See `Site.lost`. Slurm is asked every few seconds, and at once where a host has fallen silent."""
        longest = max(silent.values(), default=0.0)
        if longest > QUIET and (longest == math.inf or time.monotonic() - self._looked > FRESH):
            self._look()
        return self._lost

    def _keep(self) -> None:
        """A thread: send the job signs of life, and look for the job's own."""
        sign = 0
        while not self._closing.wait(EVERY):
            sign += 1
            with contextlib.suppress(OSError):  # a full disk; the job is patient for a while
                self._sign_of_life(sign)
            if self._allocation:
                self._look()

    def _sign_of_life(self, number: int) -> None:
        (self.folder / f"alive-{self._token}").write_text(f"{number}\n")

    def _look(self) -> str | None:
        """Ask Slurm for the job. A job that is ending gets a few seconds until the reason is known."""
        with self._asking:
            deadline = time.monotonic() + FINAL
            while self._lost is None and self._job is not None and not self._closing.is_set():
                try:
                    job = commands.job(self._job)
                except WorkshopError:
                    break  # Slurm's controller may be away for minutes while jobs go on
                finally:
                    self._looked = time.monotonic()
                if job is not None and job.state == "RUNNING":
                    break
                unclear = job is not None and job.state == "COMPLETING" and job.reason not in queue.REASONS
                if unclear and time.monotonic() < deadline:
                    time.sleep(PAUSE)
                else:
                    self._lost = self._ending(job)
            return self._lost

    def _ending(self, job: Job | None) -> str:
        return queue.why_ended(self._job or "", job, self.options["time"], self._last_line())

    def _last_line(self) -> str:
        """The last line that the job has printed."""
        try:
            lines = (self.folder / OUTPUT).read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    # Its end.

    def close(self) -> None:
        self._closing.set()
        self.clear_up()

    def clear_up(self) -> None:
        """End the job, also where only its name is known. Where Slurm doesn't answer, the job notices by itself that
        its conductor is gone."""
        file = self.folder / JOB
        try:
            record = json.loads(file.read_text())
            numbers = [record["job"]] if record["job"] else commands.named(record["name"])
            for number in numbers:
                commands.cancel(number)
            for kind in ("alive", "allocation"):
                (self.folder / f"{kind}-{record['name'].rpartition('-')[2]}").unlink(missing_ok=True)
            file.unlink(missing_ok=True)
        except FileNotFoundError:
            return
        except (WorkshopError, OSError, ValueError, KeyError) as error:
            print(f"the job of this session could not be cancelled: {error}", file=sys.stderr)


def _write(file: Path, record: Mapping[str, Any]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(record))
    new.rename(file)


Site = SlurmSite  # a launcher module has a `Site`, see `workshop.sessions.launchers.Launcher`
