"""Sessions on a real Slurm of three nodes: one job for all placements, its queue, and all the ways in which it ends."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ipyparallel as ipp
import psutil
import pytest
import zmq
from mpi4py import MPI
from zmq.utils.monitor import recv_monitor_message

from tests import mpis
from tests.sessions import Session
from tests.slurm import NODES, Slurm, slurm
from tests.support import until
from workshop import config, topology
from workshop.engine.context import RankContext
from workshop.errors import BadInput, WorkshopError
from workshop.placement import Placement
from workshop.session import lifecycle, processes
from workshop.session.slurm import JOB, Site, commands, nodes, script
from workshop.store.store import Store
from workshop.workloads import workload

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(240)]
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
ON_EACH = Placement(ranks=3, map_by="node", per_resource=1)  # one rank on each node
CLUSTERS = {"data": "blobs", "points": 3000, "clusters": 5, "iterations": 20, "backend": "numpy"}


@pytest.fixture(scope="module")
def running() -> Iterator[Slurm]:
    with slurm() as server:
        yield server


@pytest.fixture
def cluster(running: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """The Slurm, found by all commands; a test has to leave it without jobs."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    yield running
    left = running.jobs()
    for job in left:
        running.ask("scancel", job)
    until(running.idle, 20, "Slurm to be idle again")
    assert not left, f"jobs were left behind: {left}"


@pytest.fixture
def session(
    workshop_home: Path, probe_workloads: None, cluster: Slurm, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """A session of three ranks on three nodes, started as a person would, in a shell of an allocation of another's."""
    for name, value in {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "9", "SLURM_CPUS_PER_TASK": "7"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WORKSHOP_TEST_SECRET", "not for the network")
    words = [WORKSHOP, "session", "start", "test", "--slurm", "--ranks", "3", "--map-by", "node", "--per-resource", "1"]
    started = subprocess.run([*words, "--time", "30", "--json"], capture_output=True, text=True, timeout=120)
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout)["state"] == "ready"
    with Store.open() as store:
        yield Session(store, store.session("test"), workshop_home)
        lifecycle.stop_session(store, "test")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "1"
    made.mkdir()
    return made


def never() -> bool:
    return False


def alone(folder: Path, placement: Placement = ON_EACH, **options: str) -> Site:
    return Site(script.options(placement, **options), folder, placement)


# A session's life.


def test_one_job_for_all_placements(session: Session, cluster: Slurm) -> None:
    (job,) = cluster.jobs()
    ranks = session.now.rank_map["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1, 2]
    # One step of Open MPI's daemons, on each of the nodes; that these have their names the kernel has to allow.
    assert cluster.ask("squeue", "-h", "-s", "-o", "%N %j").count("wsn[1-3] prted") == 1
    if cluster.told_apart:
        assert [rank["host"] for rank in ranks] == list(NODES)
        assert [machine["host"] for machine in session.now.machine["more"]] == list(NODES[1:])

    found = session.run("kmeans", **CLUSTERS)
    assert found.status == "completed", found.error
    here = workload("kmeans")
    expected = here.load()(RankContext(MPI.COMM_SELF), here.check(CLUSTERS))
    assert found.metrics["inertia"] == pytest.approx(expected["inertia"], rel=1e-5)

    # What leaves a machine is encrypted.
    if cluster.address != "127.0.0.1":
        _is_encrypted(session)
    elif os.environ.get("CI"):
        pytest.fail("CI lacks what this test needs: a network besides loopback")

    # Other placements get other ranks, in the same job, without a wait; more than there are cores share them.
    mpis.use(session.home, "mpich", "intelmpi")
    for placement in (
        Placement(ranks=2, map_by="node"),
        Placement(ranks=4),
        Placement(ranks=3, map_by="node", mpi="mpich"),
        Placement(ranks=3, map_by="node", mpi="intelmpi", environment={"FI_PROVIDER": "tcp"}),
    ):
        other = session.run("tell", placement, events=2)
        assert (other.status, other.metrics.get("told")) == ("completed", 2 * placement.ranks), other.error
        assert cluster.jobs() == [job]
        _have_no_secret(job, placement.ranks)
        if cluster.told_apart and placement.map_by == "node":
            assert [rank["host"] for rank in other.rank_map["ranks"]] == list(NODES[: placement.ranks])
    assert session.now.message == ""
    with pytest.raises(BadInput, match="asked Slurm for 3 cores"):
        session.submit("tell", Placement(ranks=25))

    # A rank dies: its run says where, the next one has ranks again.
    run = session.submit("break", ON_EACH, rank=1, how="kill")
    ended = session.wait(run)
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1), ended.error
    if cluster.told_apart:
        assert ended.error["host"] == NODES[1]
    assert session.run("tell", ON_EACH, events=1).status == "completed"
    assert cluster.jobs() == [job]

    assert lifecycle.stop_session(session.store, "test").state == "stopped"
    assert cluster.jobs() == []


def _have_no_secret(job: str, ranks: int) -> None:
    """What Slurm has started for the job: what it has was sent to it."""
    seen = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            had = process.environ()
            if had.get("SLURM_JOB_ID") == job:
                seen.append(process)
                assert not {"WORKSHOP_TEST_SECRET", "IPP_CONNECTION_INFO"} & had.keys(), process
    assert len(seen) > ranks


def _is_encrypted(session: Session) -> None:
    """What goes between the nodes, also to a party that has the addresses."""
    files = config.session_folder(session.record.id)
    (described,) = files.glob("profile/security/ipcontroller-engine.json")
    known = json.loads(described.read_text())
    channel = json.loads((files / "channel.json").read_text())
    address = channel["address"].rpartition(":")[0]
    assert known["interface"] == address, "one address, not all of this machine's"
    assert known["curve_serverkey"]
    assert "curve_secretkey" not in known, "only the controller has it"
    for url, key in (
        (f"{known['interface']}:{known['registration']}", known["curve_serverkey"]),
        (channel["address"], channel["server_key"]),
    ):
        assert _handshake(url, None) != zmq.EVENT_HANDSHAKE_SUCCEEDED
        assert _handshake(url, key) == zmq.EVENT_HANDSHAKE_SUCCEEDED

    # Nor does ipyparallel's own client come in without the key.
    (own,) = files.glob("profile/security/ipcontroller-client.json")
    known = json.loads(own.read_text())
    with pytest.raises(TimeoutError):
        ipp.Client(known | {"curve_serverkey": None}, timeout=1)
    with ipp.Client(known, timeout=10) as inside:
        assert len(inside.ids) == 3


def _handshake(url: str, key: str | None) -> int:
    """How a connection's beginning ends: the monitor's event."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as line:
        line.linger = 0
        if key is not None:
            line.curve_publickey, line.curve_secretkey = zmq.curve_keypair()
            line.curve_serverkey = key.encode()
        monitor = line.get_monitor_socket()
        line.connect(url)
        line.send(b"hello")
        deadline = time.monotonic() + 10
        try:
            while time.monotonic() < deadline:
                if monitor.poll(100):
                    event = recv_monitor_message(monitor)["event"]
                    if event in (zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED) or "FAILED" in event.name:
                        return event
            raise AssertionError("no handshake began")
        finally:
            line.disable_monitor()


def test_scancel_from_outside_ends_run_and_session_with_its_reason(session: Session, cluster: Slurm) -> None:
    (job,) = cluster.jobs()
    run = session.submit("tell", ON_EACH, events=100_000, every=0.02)
    session.started(run)
    cancelled = time.monotonic()
    cluster.ask("scancel", job)
    ended = session.wait(run, 30)
    assert time.monotonic() - cancelled < 15
    sentence = f"Slurm ended the allocation {job}: somebody cancelled it (scancel)"
    assert (ended.status, ended.error["type"], ended.error["message"]) == ("failed", "SiteLost", sentence)
    until(lambda: session.now.state == "failed", 20, "the session to fail")
    assert session.now.message == sentence
    tag = processes.session_tag(session.record.id)
    until(lambda: not processes.tagged(processes.TAG, tag), 10, "all its processes to end")


def test_kill_9_of_the_conductor_leaves_no_job_after_stop(session: Session, cluster: Slurm) -> None:
    os.kill(session.now.conductor_pid, 9)
    assert cluster.jobs(), "nobody was left to cancel it"
    until(lambda: session.now.state == "lost", 20, "the session to be lost")
    lifecycle.stop_session(session.store, "test")
    assert cluster.jobs() == []
    assert not processes.tagged(processes.TAG, processes.session_tag(session.record.id))


# The queue.


def test_a_full_cluster_shows_its_queue_and_can_be_left(
    workshop_home: Path, probe_workloads: None, cluster: Slurm
) -> None:
    first = cluster.ask("sbatch", "--parsable", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
    until(lambda: commands.job(first).state == "RUNNING", 10, "the cluster to be full")
    words = [WORKSHOP, "session", "start", "test", "--slurm", "--ranks", "3"]
    starting = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        with Store.open() as store:
            until(lambda: any(session.name == "test" for session in store.sessions()), 20, "the session")
            until(lambda: "(Resources)" in store.session("test").message, 20, "the queue's reason to be shown")
            (job,) = set(cluster.jobs()) - {first}
            assert store.session("test").message.startswith(f"waiting in Slurm's queue, job {job}: PENDING (Resources)")
            asked = time.monotonic()
            assert lifecycle.stop_session(store, "test").state == "stopped"
            assert time.monotonic() - asked < 10
            assert cluster.jobs() == [first]
        _, err = starting.communicate(timeout=20)
        assert f"Waiting in Slurm's queue, job {job}: PENDING (Resources)" in err
        assert starting.returncode == 1
    finally:
        starting.kill()
        cluster.ask("scancel", first)


def waiting(site: Site, until_said: str) -> tuple[threading.Thread, list[str], list[str]]:
    """Prepare a site in a thread; returns when it has said something. What it says, and how it ends."""
    said: list[str] = []
    ended: list[str] = []

    def prepare() -> None:
        try:
            site.prepare(said.append, never)
        except WorkshopError as error:
            ended.append(str(error))

    thread = threading.Thread(target=prepare)
    thread.start()
    until(lambda: ended or any(until_said in words for words in said), 20, until_said)
    return thread, said, ended


def test_nobody_waits_for_ever(cluster: Slurm, folder: Path) -> None:
    first = cluster.ask("sbatch", "--parsable", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
    try:
        site = alone(folder)
        site.options["wait"] = 0.5
        with pytest.raises(WorkshopError, match=r"has waited .* in Slurm's queue, now PENDING .*--wait"):
            site.prepare(lambda _: None, never)
        site.close()
        assert cluster.jobs() == [first]

        site = alone(folder)
        thread, _, ended = waiting(site, "PENDING")
        (job,) = set(cluster.jobs()) - {first}
        cluster.ask("scancel", job)
        thread.join(20)
        assert ended == [f"Slurm ended the allocation {job}: somebody cancelled it (scancel)"]
        site.close()
    finally:
        cluster.ask("scancel", first)


# Ends.


def lose(cluster: Slurm, folder: Path, cause: Callable[[str], object], **options: str) -> str:
    """What a site says after something has happened to its job."""
    site = alone(folder, **options)
    try:
        site.prepare(lambda _: None, never)
        assert site.lost({"wsn1": math.inf}) is None
        (job,) = cluster.jobs()
        cause(job)
        lost = until(lambda: site.lost({"wsn1": math.inf}), 60, "the site to be lost")
        return lost.replace(job, "N")
    finally:
        site.close()


def test_preemption_is_told(cluster: Slurm, folder: Path) -> None:
    urgent = ["sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600"]
    others: list[str] = []
    lost = lose(cluster, folder, lambda _: others.append(cluster.ask(*urgent)))
    cluster.ask("scancel", *others)
    assert lost == "Slurm ended the allocation N: another job took its place (preemption)"


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
    """The conductor was killed between sbatch's answer and its note of it."""
    job = cluster.ask("sbatch", "--parsable", "-J", "workshop-1-x", "-o", "/dev/null", "--wrap", "sleep 600")
    (folder / JOB).write_text(json.dumps({"name": "workshop-1-x", "job": None}))
    alone(folder).clear_up()
    until(lambda: job not in cluster.jobs(), 10, "the job to end")
    assert not (folder / JOB).exists()


def test_the_slurm_of_tests_ends_with_them() -> None:
    """Also after kill -9, with its jobs and its folder."""
    code = "import time; from tests.slurm import slurm\nwith slurm() as s: print(s.folder, flush=True); time.sleep(99)"
    words = [sys.executable, "-c", code]
    starter = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
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
    until(lambda: not own.exists() and not named(), 20, "Slurm to end")


# Refusals.


def test_nodes_that_do_not_answer(cluster: Slurm, folder: Path) -> None:
    told = {"SLURM_JOB_ID": "4711", "SLURM_JOBID": "4711"}
    found = nodes.check(told, 3, folder, cluster.address, never)
    (words,) = found.failures
    assert found.machine is None
    assert words.startswith("0 of 3 nodes have answered (")
    assert "Invalid job id" in words
    assert list(folder.iterdir()) == []


def test_nobody_has_to_wait_for_nodes_that_are_asked(cluster: Slurm, folder: Path) -> None:
    site, said = alone(folder), []
    began = time.monotonic()
    with pytest.raises(WorkshopError, match="asked to end"):
        site.prepare(said.append, lambda: said[-1:] == ["checking wsn1, wsn2, wsn3"])
    assert said[-1] == "checking wsn1, wsn2, wsn3", "it ended there, with the nodes' answers on their way"
    assert time.monotonic() - began < 30
    site.close()
    assert [file.name for file in folder.iterdir() if file.name != "slurm-job.out"] == []


def test_a_job_has_the_sessions_name_whatever_its_template_says(cluster: Slurm, folder: Path) -> None:
    """By it, it is found where the conductor was killed before it knew the number."""
    (folder / "t").write_text("#!/bin/sh\n#SBATCH -n {ranks} -J mine\n{hold}\n")
    killed = alone(folder, template=folder / "t")
    killed.prepare(lambda _: None, never)
    try:
        known = json.loads((folder / JOB).read_text())
        assert commands.named(known["name"]) == [known["job"]]
        (folder / JOB).write_text(json.dumps(known | {"job": None}))
        alone(folder).clear_up()
        until(lambda: not cluster.jobs(), 10, "the job to end")
        assert {file.name for file in folder.iterdir()} <= {"t", "slurm-job.out"}
    finally:
        killed.close()


def test_the_nodes_machine_is_known(cluster: Slurm, folder: Path) -> None:
    site, said = alone(folder), []
    site.prepare(said.append, never)
    try:
        assert not any("clock" in words for words in said), "it is the same one here"
        mine = topology.machine()
        assert [unit["core"] for unit in site._machine["units"]] == [unit["core"] for unit in mine["units"]]
    finally:
        site.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": "nosuch"}, r"own words: .*nvalid partition.*Give --partition one of main, urgent, staff"),
        ({"partition": "staff", "account": "guests"}, r"own words: .*account.*Give --account"),
        ({"time": "600"}, r"own words: .*time limit.*Give --time fewer minutes; .*main 2:00:00"),
        ({"placement": Placement(ranks=40)}, r"own words: .*Change the placement"),
    ],
)
def test_what_sbatch_refuses_is_said_in_its_words(
    cluster: Slurm, folder: Path, options: dict[str, str], words: str
) -> None:
    site = alone(folder, **{"placement": ON_EACH, **options})
    with pytest.raises(BadInput, match=words):
        site.prepare(lambda _: None, never)
    site.close()
    assert cluster.jobs() == []


def test_a_refusal_is_one_sentence_on_the_terminal(workshop_home: Path, cluster: Slurm) -> None:
    words = [WORKSHOP, "session", "start", "--slurm", "--partition", "nosuch"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended.stderr
    assert "invalid partition specified: nosuch" in ended.stderr
    assert "Traceback" not in ended.stderr
    with Store.open() as store:
        assert store.session("workshop").state == "failed"


def test_a_job_whose_script_fails_says_so(cluster: Slurm, folder: Path) -> None:
    """Wherever its template wants the output to be."""
    (folder / "t").write_text(
        "#!/bin/sh\n#SBATCH -n {ranks} -J mine -o /dev/null\necho no such module >&2\nexit 3\n{hold}\n"
    )
    site = alone(folder, template=folder / "t")
    with pytest.raises(WorkshopError, match=r"Slurm ended the allocation \d+: its script failed \(no such module\)"):
        site.prepare(lambda _: None, never)
    site.close()
