"""Sessions on a real Slurm of three nodes: how their jobs end, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.sessions.launchers.on_slurm import ON_EACH, alone, never
from tests.slurm import Slurm
from tests.support import until
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import preflight
from workshop.sessions.launchers.slurm.allocation import JOB

pytestmark = pytest.mark.real
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


# Ends.


def lose(cluster: Slurm, folder: Path, cause: Callable[[str], object], **options: str) -> str:
    """What a site says after something has happened to its job."""
    site = alone(folder, **options)
    try:
        site.prepare(lambda _: None, never)
        assert site.lost(True) is None
        (job,) = cluster.jobs()
        cause(job)
        lost = until(lambda: site.lost(True), 60, "the site to be lost")
        return lost.replace(f"allocation {job}:", "allocation N:")  # a node's name may have the same number
    finally:
        site.close()


@pytest.mark.exhaustive
def test_preemption_is_told(cluster: Slurm, folder: Path) -> None:
    urgent = ["sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600"]
    others: list[str] = []
    lost = lose(cluster, folder, lambda _: others.append(cluster.ask(*urgent)))
    cluster.ask("scancel", *others)
    assert lost == "Slurm ended the allocation N: another job took its place (preemption)"


@pytest.mark.exhaustive
def test_a_time_limit_is_told(cluster: Slurm, folder: Path) -> None:
    # Slurm counts in minutes and looks every half of one; the end can be brought forward, but not to the second in
    # which the job has begun.
    def brought_forward(job: str) -> bool:
        try:
            cluster.ask("scontrol", "update", f"JobId={job}", "EndTime=now")
        except subprocess.CalledProcessError:
            return False
        return True

    lost = lose(cluster, folder, lambda job: until(lambda: brought_forward(job), 10, "the end's new time"), time="2")
    assert lost == (
        "Slurm ended the allocation N: its time limit of 2 minutes was reached; start the session with a longer --time"
    )


def test_a_failed_node_is_told(cluster: Slurm, folder: Path) -> None:
    try:
        lost = lose(
            cluster, folder, lambda _: cluster.ask("scontrol", "update", "NodeName=wsn2", "State=DOWN", "Reason=test")
        )
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):  # it has come back by itself
            cluster.ask("scontrol", "update", "NodeName=wsn2", "State=RESUME")
    assert lost == "Slurm ended the allocation N: one of its nodes (wsn[1-3]) failed"


def test_a_job_is_found_by_its_name_alone(cluster: Slurm, folder: Path) -> None:
    """The conductor was killed between salloc's answer and its note of it."""
    job = cluster.ask("sbatch", "--parsable", "-J", "workshop-1-x", "-o", "/dev/null", "--wrap", "sleep 600")
    (folder / JOB).write_text(json.dumps({"name": "workshop-1-x", "job": None}))
    alone(folder).clear_up()
    until(lambda: job not in cluster.jobs(), 10, "the job to end")
    assert not (folder / JOB).exists()


@pytest.mark.exhaustive
def test_the_slurm_of_tests_ends_with_them() -> None:
    """Also after kill -9, with its jobs and its folder."""
    code = "import time; from tests.slurm import slurm\nwith slurm() as s: print(s.folder, flush=True); time.sleep(99)"
    words = [sys.executable, "-c", code]
    starter = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    own = Path(starter.stdout.readline().strip())

    def named() -> list[str]:
        lines = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
        return [line for line in lines if own.name in line]

    try:
        variables = os.environ | {"SLURM_CONF": str(own / "slurm.conf")}
        held = ["sbatch", "--parsable", "-N3", "-o", "/dev/null", "--wrap", f"tail -f {own}/slurm.conf"]
        subprocess.run(held, env=variables, check=True, capture_output=True)
        until(lambda: f"tail -f {own}/slurm.conf" in named(), 20, "the job to run")
    finally:
        starter.kill()
        starter.wait()
    until(lambda: not own.exists() and not named(), 60, "Slurm to end")


# Refusals.


def test_nodes_that_do_not_answer(cluster: Slurm, folder: Path) -> None:
    told = os.environ | {"SLURM_JOB_ID": "4711", "SLURM_JOBID": "4711"}
    step = ["srun", "--nodes=3", "--ntasks=3", "--mpi=none"]
    (words,), machine = preflight.check_nodes(step, told, 3, folder, cluster.address, never)
    assert machine is None
    assert words.startswith("0 of 3 nodes have answered (")
    assert "Invalid job id" in words
    assert list(folder.iterdir()) == []


def test_nobody_has_to_wait_for_nodes_that_are_asked(cluster: Slurm, folder: Path) -> None:
    site, said = alone(folder), []
    with pytest.raises(WorkshopError, match="asked to end"):
        site.prepare(said.append, lambda: said[-1:] == ["checking wsn1, wsn2, wsn3"])
    assert said[-1] == "checking wsn1, wsn2, wsn3", "it ended there, with the nodes' answers on their way"
    site.close()
    assert {file.name for file in folder.iterdir()} <= {"slurm-job.out", "slurm-variables.txt"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": "nosuch"}, r"own words: .*nvalid partition.*Give --partition one of main, urgent, staff"),
        ({"partition": "staff", "account": "guests"}, r"own words: .*account.*Give --account"),
        ({"time": "600"}, r"own words: .*time limit.*Give --time fewer minutes; .*main 2:00:00"),
        ({"placement": Placement(ranks=40)}, r"own words: .*Change the placement"),
    ],
)
def test_what_salloc_refuses_is_said_in_its_words(
    cluster: Slurm, folder: Path, options: dict[str, str], words: str
) -> None:
    site = alone(folder, **{"placement": ON_EACH, **options})
    with pytest.raises(BadInput, match=words):
        site.prepare(lambda _: None, never)
    site.close()
    assert cluster.jobs() == []
