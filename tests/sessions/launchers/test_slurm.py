"""What sessions on Slurm ask for and read, without a Slurm: the options, the profile, the commands' words."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import mpis
from tests.support import limit
from workshop.core import centre, machines
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement
from workshop.sessions.launchers import site
from workshop.sessions.launchers.slurm import Site, commands, options
from workshop.sessions.launchers.slurm.allocation import Allocation, clear_up
from workshop.sessions.launchers.slurm.commands import Job

SECRETS = {"WORKSHOP_DATABASE_URL": "postgresql://user:secret@host/db", "IPP_CONNECTION_INFO": "{}", "TOKEN": "x"}
ALLOCATION = {
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_TASKS_PER_NODE": "2(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "4(x2)",
}


def asked(placement: Placement, **chosen: str) -> dict[str, str]:
    request = options.options(placement, **chosen)["request"]
    return dict(word.removeprefix("--").split("=", 1) for word in request)


def test_salloc_is_asked_for_what_the_placement_needs_and_the_user_says(workshop_home: Path) -> None:
    placement = Placement(ranks=5, map_by="node", per_resource=2, cores_per_rank=3)
    assert asked(placement, time="30", account="physics", gpus="a100:2") == {
        "account": "physics",
        "gpus": "a100:2",
        "time": "30",
        "nodes": "3",
        "ntasks": "5",
        "ntasks-per-node": "2",
        "cpus-per-task": "3",
        "hint": "nomultithread",
    }


def test_the_centres_profile_gives_what_the_user_leaves_out(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site.yaml").write_text(
        "slurm: {partition: teaching, qos: short}\ntime: 90\noptions: [--exclusive]\nlauncher: slurm\n"
        "environment: {FI_PROVIDER: verbs}\n"
    )
    monkeypatch.setenv("WORKSHOP_SITE", str(tmp_path / "site.yaml"))
    chosen = options.options(Placement(ranks=2), partition="main")
    assert {"--partition=main", "--qos=short", "--time=90", "--exclusive"} <= set(chosen["request"])
    monkeypatch.setattr(commands, "installed", lambda: None)
    assert site.usual(Placement(ranks=2))["kind"] == "slurm"

    (tmp_path / "site.yaml").write_text("slurm: {queue: teaching}\n")
    with pytest.raises(BadInput, match=r"site\.yaml: .*queue"):
        centre.read_profile()
    monkeypatch.setenv("WORKSHOP_SITE", str(tmp_path / "nosuch.yaml"))
    with pytest.raises(BadInput, match=r"WORKSHOP_SITE names .*nosuch\.yaml, which is not a file"):
        centre.read_profile()


@pytest.mark.real
def test_modules_are_loaded_by_a_login_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".bash_profile").write_text('module() { [ "$2" = gcc/13 ] && export LOADED=yes; }\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    assert centre.loaded(("gcc/13",))["LOADED"] == "yes"
    with pytest.raises(BadInput, match="The modules nosuch/1 of the centre's profile can't be loaded"):
        centre.loaded(("nosuch/1",))


def test_a_session_that_is_started_in_an_allocation_uses_it(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "squeue").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert options.around() is None
    for name, value in ALLOCATION.items():
        monkeypatch.setenv(name, value)
    assert site.default_placement() == Placement(ranks=2, map_by="node"), "a rank on each node"
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert site.default_placement().ranks == 4
    where = site.usual(site.default_placement())
    assert (where["kind"], where["cores"], where["allocation"]["SLURM_JOB_ID"]) == ("slurm", 4, "17")
    monkeypatch.setenv("SLURM_JOB_NODELIST", socket.gethostname().partition(".")[0])
    assert site.usual(Placement(ranks=2)) == site.LOCAL, "this machine alone"


@given(
    ranks=st.integers(1, 1024),
    per_node=st.none() | st.integers(1, 64),
    nodes=st.none() | st.integers(1, 1024),
)
@settings(max_examples=100, deadline=None)
def test_nodes_and_ranks_per_node_have_room_for_all_ranks(ranks: int, per_node: int | None, nodes: int | None):
    placement = Placement(ranks=ranks, map_by="node" if per_node else "auto", per_resource=per_node)
    shape = options._shape(placement, nodes)
    assert ("nodes" in shape) == ("ntasks-per-node" in shape)
    if "nodes" in shape and (nodes is None or per_node is None):
        assert shape["nodes"] * shape["ntasks-per-node"] >= ranks
        assert (shape["nodes"] - 1) * shape["ntasks-per-node"] < ranks or nodes is not None


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"time": "٣"}, "--time"),
        ({"nodes": "3"}, "at most one for each rank"),
        ({"wait": "-1"}, "--wait"),
    ],
)
def test_bad_options_are_named(given_: dict[str, str], words: str):
    with pytest.raises(BadInput, match=words):
        options.options(Placement(ranks=2), **given_)


def test_hosts_are_slurms_to_choose():
    hosts = Placement(ranks=1, hosts=(Host(name="n1"),))
    with pytest.raises(BadInput, match="Slurm chooses the hosts"):
        options.options(hosts)
    chosen = options.options(Placement(ranks=2))
    with pytest.raises(BadInput, match="leave them out"):
        site.check(chosen, hosts)
    with pytest.raises(BadInput, match="allocation of Slurm has 2 cores, which take at most 16"):
        site.check(chosen, Placement(ranks=17))
    site.check(chosen, Placement(ranks=16))


@pytest.mark.parametrize("mpi", ["mpich", "intelmpi"])
def test_what_an_mpi_has_no_words_for_is_refused_before_anything_queues(workshop_home: Path, mpi: str):
    mpis.use(workshop_home, mpi)
    chosen = options.options(Placement(ranks=8))
    with pytest.raises(BadInput, match="has no words for 2 ranks per package"):
        site.check(chosen, Placement(ranks=4, mpi=mpi, map_by="package", per_resource=2))
    # Nodes may have the packages that the login node, where this is asked, lacks.
    many = Placement(ranks=8, mpi=mpi, map_by="package", bind_to="package", per_resource=1)
    site.check(chosen, many)
    with pytest.raises(BadInput, match="it has 4"):
        options.arguments(chosen, many, machines.synthetic("4x2").machine)


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--partition", "main"], "--partition is for a session on Slurm; give --slurm, too."),
        (["--slurm"], "Slurm's salloc is not on this machine's PATH"),
    ],
)
def test_options_of_the_command_line(workshop_home: Path, words: list[str], said: str):
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "session", "start", *words]
    ended = subprocess.run(
        command, env=os.environ | {"PATH": "/nowhere"}, capture_output=True, text=True, timeout=limit(30)
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1


# What the commands say.


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "salloc: error: invalid partition specified: nosuch\n"
            "salloc: error: Job submit/allocate failed: Invalid partition name specified\n",
            "invalid partition specified: nosuch; Invalid partition name specified",
        ),
    ],
)
def test_what_salloc_says(said: str, words: str):
    assert commands.refusal(said) == words


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_slots_are_the_cores_that_were_asked_for(nodes: list[tuple[int, int]], cores: int):
    told = ",".join(f"{tasks}(x{times})" if times > 1 else str(tasks) for tasks, times in nodes)
    expected = ",".join(f"{tasks * cores}(x{times})" if times > 1 else str(tasks * cores) for tasks, times in nodes)
    asked_for = {"SLURM_TASKS_PER_NODE": told, "SLURM_CPUS_PER_TASK": str(cores)}
    assert commands.slots(asked_for) == expected
    assert sum(commands.per_node(expected)) == sum(tasks * times for tasks, times in nodes) * cores


def test_without_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="salloc is not on this machine's PATH: start the session on a login node"):
        commands.installed()


def test_an_allocation_that_we_are_in_is_nobodys_business(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    assert {name for name in commands.environment() if name.startswith("SLURM_")} == {"SLURM_CONF"}


@pytest.mark.parametrize(
    ("job", "minutes", "words"),
    [
        (None, None, "it does not know it any longer"),
        (Job("TIMEOUT", "TimeLimit"), 1, "its time limit of 1 minute was reached"),
        (Job("FAILED", "NonZeroExitCode"), None, "it failed"),
        (Job("NODE_FAIL", "None", nodes="n[1-3]"), None, "one of its nodes (n[1-3]) failed"),
        (Job("SOMETHING_NEW", "Why"), None, "SOMETHING_NEW (Why)"),
    ],
)
def test_why_a_job_ended(job: Job | None, minutes: int | None, words: str):
    said = commands.why_ended("17", job, minutes)
    assert said.startswith(f"Slurm ended the allocation 17: {words}")


# What leaves this machine.


@pytest.mark.real
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "intelmpi"])
def test_no_secret_and_everything_needed_is_exported(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: str
) -> None:
    if mpi != "openmpi":
        mpis.use(workshop_home, mpi)
    for name, value in {**SECRETS, "UCX_TLS": "tcp", "PYTHONPATH": "/p", "SLURM_CONF": "/c"}.items():
        monkeypatch.setenv(name, value)
    placement = Placement(ranks=2, mpi=mpi, environment={"OMP_PROC_BIND": "true"})
    made = Site(options.inside(ALLOCATION), tmp_path, placement)
    launch = made.launch(placement, {"NEEDED": "x"})
    # As ipyparallel starts it, up to the launcher itself.
    *before, _ = launch.command
    asked = [*before, sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    variables = os.environ | launch.environment | {"IPP_PROFILE_DIR": "/profile"}
    had = json.loads(subprocess.run(asked, env=variables, capture_output=True, check=True).stdout)
    assert not SECRETS.keys() & had.keys()
    needed = {"NEEDED", "OMP_PROC_BIND", "OMP_NUM_THREADS", "WORKSHOP_HOME", "IPP_PROFILE_DIR", "PATH", "HOME"}
    assert had.keys() >= needed | {"UCX_TLS", "PYTHONPATH", "SLURM_CONF"}
    assert had["SLURM_JOB_ID"] == "17"


@pytest.mark.real
def test_salloc_gets_no_secret_and_gives_back_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """salloc and srun send all that they have."""
    (tmp_path / "salloc").write_text(
        f'#!/bin/sh\nenv >{tmp_path}/env\necho "salloc: Granted job allocation 17" >&2\n'
        'SLURM_JOB_ID=17 exec sh -c "$6"\n'
    )
    (tmp_path / "scancel").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/cancelled\n')
    for name in ("salloc", "scancel"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in {**SECRETS, "SALLOC_QOS": "high"}.items():
        monkeypatch.setenv(name, value)
    held = Allocation(["--ntasks=1"], "w-1", tmp_path)
    assert held.wait(20, print, lambda: False)["SLURM_JOB_ID"] == "17"
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not names & SECRETS.keys()
    assert names >= {"PATH", "HOME", "SALLOC_QOS"}
    held.release()
    clear_up(tmp_path)
    assert set((tmp_path / "cancelled").read_text().split()) == {"17"}, "by the shell, by us, or by both"
