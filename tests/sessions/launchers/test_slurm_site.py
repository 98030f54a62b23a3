"""Sessions on a real Slurm of three nodes: one job for all placements, its queue, and all the ways in which it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ipyparallel as ipp
import psutil
import pytest
import zmq
from mpi4py import MPI
from zmq.utils.monitor import recv_monitor_message

from tests import mpis
from tests.live_session import Session
from tests.sessions.launchers.on_slurm import ON_EACH, alone, never
from tests.slurm import NODES, Slurm
from tests.support import limit, need, starts_processes, until
from workshop.core import config, processes
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.engine.context import RankContext
from workshop.registry import workload
from workshop.sessions import lifecycle
from workshop.sessions.launchers.slurm import Site, commands
from workshop.store.store import Store

pytestmark = pytest.mark.real
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
CLUSTERS = {"data": "blobs", "points": 3000, "clusters": 5, "iterations": 20, "backend": "numpy"}


@pytest.fixture
@starts_processes
def session(
    workshop_home: Path, probe_workloads: None, cluster: Slurm, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """A session of three ranks on three nodes, started as a person would, in a shell of an allocation of another's."""
    for name, value in {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "9", "SLURM_CPUS_PER_TASK": "7"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WORKSHOP_TEST_SECRET", "not for the network")
    words = [WORKSHOP, "session", "start", "test", "--slurm", "--ranks", "3", "--map-by", "node", "--per-resource", "1"]
    started = subprocess.run([*words, "--time", "30", "--json"], capture_output=True, text=True, timeout=limit(120))
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout)["state"] == "ready"
    with Store.open() as store:
        yield Session(store, store.session("test"), workshop_home)
        lifecycle.stop_session(store, "test")


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
    _have_their_centre_s_mpi(session, cluster)
    until(lambda: session.now.message == "", 20, "the session to be ready again")
    with pytest.raises(BadInput, match="allocation of Slurm has 3 cores"):
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


# The centre's own MPI: its launcher, and its library where the launcher doesn't say it.
CENTRES = (
    ("mpirun.openmpi", ""),
    ("mpirun.mpich", ""),
    ("srun --mpi=pmix", "libmpi.so.40"),
    ("srun --mpi=pmi2", "libmpich.so.12"),
)


def _have_their_centre_s_mpi(session: Session, cluster: Slurm) -> None:
    """Ranks of the same job are started by each launcher of Debian's, and are one world."""
    folder = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
    need(all(shutil.which(f"mpirun.{name}") for name in ("openmpi", "mpich")), "Debian's openmpi-bin and mpich")
    profile = session.home / "site.yaml"
    for launcher, library in CENTRES:
        need("pmix" not in launcher or (folder / "pmix2/lib/libpmix.so").exists(), "Debian's libpmix-dev")
        named = f"library: {folder / library}" if library else ""
        profile.write_text(f"mpi:\n  launcher: {launcher}\n  {named}\n")
        run = session.run("tell", Placement(ranks=3, map_by="node", mpi="system"), events=2)
        assert (run.status, run.metrics.get("told")) == ("completed", 6), (launcher, run.error)
        if cluster.told_apart:
            assert [rank["host"] for rank in run.rank_map["ranks"]] == list(NODES), launcher
    ended = session.wait(session.submit("break", Placement(ranks=3, mpi="system"), rank=1, how="kill"))
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1), ended.error
    profile.unlink()


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
    with ipp.Client(known, timeout=limit(10)) as inside:
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
        deadline = time.monotonic() + limit(20)
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
    cluster.ask("scancel", job)
    ended = session.wait(run, 30)
    sentence = f"Slurm ended the allocation {job}: somebody cancelled it (scancel)"
    assert (ended.status, ended.error["type"], ended.error["message"]) == ("failed", "SiteLost", sentence)
    until(lambda: session.now.state == "failed", 20, "the session to fail")
    assert session.now.message == sentence
    tag = processes.session_tag(session.record.id)
    until(lambda: not processes.tagged(processes.TAG, tag), 10, "all its processes to end")


def test_kill_9_of_the_conductor_gives_the_allocation_back(session: Session, cluster: Slurm) -> None:
    os.kill(session.now.conductor_pid, 9)
    until(lambda: not cluster.jobs(), 20, "the allocation to be given back")
    until(lambda: session.now.state == "lost", 20, "the session to be lost")
    lifecycle.stop_session(session.store, "test")
    assert not processes.tagged(processes.TAG, processes.session_tag(session.record.id))


def test_a_session_inside_an_allocation_needs_no_option(
    workshop_home: Path, probe_workloads: None, cluster: Slurm
) -> None:
    """`salloc`, then `workshop session start`: ranks on all its nodes; the allocation stays when the session ends."""
    start = f"{WORKSHOP} session start test --json && {WORKSHOP} run tell --events 2 --json"
    script = f"{start}; {WORKSHOP} session stop test; squeue -h -o %i"
    words = ["salloc", "--no-bell", "--nodes=3", "--ntasks=3", "bash", "-c", script]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=limit(120))
    assert ended.returncode == 0, ended.stderr
    with Store.open() as store:
        (run,) = store.runs()
    hosts = [rank["host"] for rank in run.rank_map["ranks"]]
    assert hosts == list(NODES) if cluster.told_apart else len(hosts) == 3
    assert ended.stdout.strip().splitlines()[-1].isdecimal(), "the job goes on"


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
            until(lambda: "(Resources)" in store.session("test").message, 60, "the queue's reason to be shown")
            assert starting.stderr is not None
            heard = ""  # by who has started it, which looks by itself
            while "(Resources)" not in heard and (line := starting.stderr.readline()):
                heard += line
            (job,) = set(cluster.jobs()) - {first}
            assert store.session("test").message.startswith(f"waiting in Slurm's queue, job {job}: PENDING (Resources)")
            assert lifecycle.stop_session(store, "test").state == "stopped"
            assert cluster.jobs() == [first]
        starting.communicate(timeout=limit(60))
        assert f"Waiting in Slurm's queue, job {job}: PENDING (Resources)" in heard
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


@pytest.mark.exhaustive
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
        thread.join(limit(20))
        assert ended == [f"Slurm ended the allocation {job}: somebody cancelled it (scancel)"]
        site.close()
    finally:
        cluster.ask("scancel", first)
