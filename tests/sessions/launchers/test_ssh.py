"""Sessions on several hosts: ranks are where they should be, talk over the network, and a lost host is noticed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.control_groups import control_group, join
from tests.hosts import WORKSHOP, Hosts, emulated, running, session_on
from tests.support import need, until
from workshop.cli.emulation.hosts import EmulatedHosts
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.sessions.launchers import ssh as site
from workshop.store.store import Store

pytestmark = pytest.mark.real
SSHD = """\
Port 2222
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
"""
SSH = """\
Host *
  Port 2222
  IdentityFile {folder}/key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


def test_a_session_on_three_hosts(workshop_home: Path, probe_workloads: None) -> None:
    with emulated(3) as hosts, session_on(hosts, workshop_home, "hostA:2,hostB:2,hostC:2") as session:
        now = session.now
        assert now.site["kind"] == "hosts"
        assert Counter(rank["host"] for rank in now.rank_map["ranks"]) == {"hostA": 2, "hostB": 2, "hostC": 2}
        assert [rank["local_rank"] for rank in now.rank_map["ranks"]] == [0, 1, 0, 1, 0, 1]
        assert set(topology.machines(now.machine)) == {"hostA", "hostB", "hostC"}

        # Bytes really go over the network: a ring sends 2 (n - 1) / n of the array per host and all-reduce.
        one_each = Placement(ranks=3, hosts=hosts_from("hostA:1,hostB:1,hostC:1"), bind_to="none")
        assert session.run("exchange", one_each, times=1).status == "completed"
        before = {name: hosts.sent(name) for name in hosts.names}
        summed = session.run("exchange", one_each, times=8, numbers=1 << 17)
        assert summed.metrics["sum"] == 3.0**8
        for name in hosts.names:
            assert hosts.sent(name) - before[name] > 8 << 20

        # The same work on one host and on three has the same result.
        together = Placement(ranks=2, hosts=hosts_from("hostA:2"), bind_to="none")
        apart = Placement(ranks=2, hosts=hosts_from("hostB:1,hostC:1"), bind_to="none")
        results = [session.run("kmeans", where, clusters=4, backend="numpy") for where in (together, apart)]
        assert [{rank["host"] for rank in run.rank_map["ranks"]} for run in results] == [{"hostA"}, {"hostB", "hostC"}]
        assert [run.status for run in results] == ["completed"] * 2, [run.error for run in results]
        assert results[0].metrics["inertia"] == pytest.approx(results[1].metrics["inertia"], rel=1e-9)

        # A rank that dies over there is named, and the session goes on.
        run = session.submit("tell", apart, events=100_000, every=0.02)
        session.started(run)
        killed = next(rank for rank in session.store.run(run.id).rank_map["ranks"] if rank["host"] == "hostC")
        assert hosts.run("hostC", "kill", "-9", str(killed["pid"])).returncode == 0
        died = session.wait(run).error
        assert (died["type"], died["rank"], died["host"]) == ("RankDied", killed["rank"], "hostC"), died
        assert session.run("kmeans", apart, clusters=4, backend="numpy").status == "completed"

        with pytest.raises(BadInput, match="hostD is not a host of this session; its hosts are hostA:2, hostB:2"):
            session.submit("tell", Placement(ranks=1, hosts=hosts_from("hostD")))
        with pytest.raises(BadInput, match="hostB has 2 slots in this session, not 3"):
            session.submit("tell", Placement(ranks=1, hosts=hosts_from("hostB:3")))


@pytest.mark.parametrize("how", ["cut", pytest.param("kill", marks=pytest.mark.exhaustive)])
def test_a_lost_host_ends_the_run_with_its_name(workshop_home: Path, probe_workloads: None, how: str) -> None:
    with emulated(3) as hosts, session_on(hosts, workshop_home, "hostA:1,hostB:1,hostC:1") as session:
        run = session.submit("tell", events=100_000, every=0.02)
        session.started(run)
        getattr(hosts, how)("hostB")
        ended = session.wait(run, 20)
        assert ended.status == "failed"
        assert "hostB" in ended.error["message"], ended.error
        until(lambda: session.now.state == "failed", 15, "the session to say that it can't go on")
        assert "hostB is lost" in session.now.message
        left = ["hostC"] if how == "kill" else ["hostB", "hostC"]
        for name in left:
            until(lambda name=name: not running(hosts, name), 15, f"{name} to be clean")
        until(lambda: not running(hosts, "hostA"), 15, "hostA to be clean")


def test_a_killed_conductor_leaves_nothing_on_other_hosts(workshop_home: Path, probe_workloads: None) -> None:
    with emulated(2) as hosts, session_on(hosts, workshop_home, "hostA:1,hostB:1") as session:
        run = session.submit("tell", events=100_000, every=0.02)
        session.started(run)
        assert running(hosts, "hostB")
        assert hosts.run("hostA", "kill", "-9", str(session.now.conductor_pid)).returncode == 0
        for name in hosts.names:
            until(lambda name=name: not running(hosts, name), 15, f"{name} to be clean")


@pytest.mark.exhaustive
def test_one_command_brings_up_hosts_and_the_dashboard(workshop_home: Path) -> None:
    with emulated(2) as hosts, Store.open() as store, ThreadPoolExecutor(1) as aside:
        words = ["up", "--no-lab", "--hosts", "hostA:1,hostB:1", "--bind-to", "none", "--port", "8501", "--json"]
        ended = aside.submit(hosts.run, "hostA", *WORKSHOP, *words, seconds=120.0)
        try:
            ask = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/join', timeout=30)"
            asked = [sys.executable, "-c", ask]
            until(lambda: ended.done() or hosts.run("hostA", *asked).returncode == 0, 60, "the dashboard to answer")
            until(lambda: ended.done() or store.session("workshop").state == "ready", 60, "the session to be ready")
            there = store.session("workshop").rank_map["ranks"]
            assert [rank["host"] for rank in there] == ["hostA", "hostB"]
        finally:
            hosts.run("hostA", "pkill", "-INT", "-f", "workshop up")
        done = ended.result(60)
        assert json.loads(done.stdout)["session"] == "workshop"
        assert done.stderr.rstrip().endswith("Everything has ended."), done.stderr
        for name in hosts.names:
            until(lambda name=name: not running(hosts, name), 15, f"{name} to be clean")


def test_what_the_other_hosts_are_asked_to_reach() -> None:
    assert site.is_here(socket.gethostname())
    assert site.is_here("127.0.0.1")
    assert not site.is_here("192.0.2.1")
    assert site.address_towards(["127.0.0.1"]) == "127.0.0.1"
    with pytest.raises(BadInput, match=r"None of no-such-host.invalid has an IPv4 address"):
        site.address_towards(["no-such-host.invalid"])


@pytest.mark.parametrize("odd", ["a..b", "x" * 64, "", "::1", "fe80::1%lo", "\udc80"])
def test_what_is_no_ipv4_address_gets_one_sentence(odd: str, tmp_path: Path) -> None:
    assert not site.is_here(odd)
    with pytest.raises(BadInput, match="has an IPv4 address"):
        site.address_towards([odd])
    with pytest.raises(BadInput, match="is no IPv4 address and no name of one"):
        site.numeric(odd)
    hosts = hosts_from("192.0.2.1")
    if odd:
        with pytest.raises(BadInput, match="is no IPv4 address and no name of one"):
            site.Site(site.options(hosts, odd), tmp_path, Placement()).look(lambda _: None, lambda: False)


def test_no_secret_and_everything_needed_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_DATABASE_URL", "postgresql://user:secret@host/db")
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path))
    placement = Placement(ranks=2, hosts=hosts_from("hostA:1,hostB:1"), environment={"OMP_PROC_BIND": "true"})
    launch = site.Site(site.options(placement.hosts), tmp_path, placement).launch(placement, {"NEEDED": "x"})
    exported = {after for word, after in zip(launch.arguments, launch.arguments[1:], strict=False) if word == "-x"}
    assert exported >= {"NEEDED", "OMP_PROC_BIND", "OMP_NUM_THREADS", "WORKSHOP_HOME"}
    assert "WORKSHOP_DATABASE_URL" not in exported
    assert "ServerAliveInterval=2" in launch.environment["PRTE_MCA_plm_ssh_args"]
    assert "-H" in launch.arguments


def with_sshd(hosts: Hosts, name: str, folder: Path) -> Path:
    """Start a real sshd on a host; returns the program that reaches it."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    for file, text in (("sshd_config", SSHD), ("ssh_config", SSH)):
        (folder / file).write_text(text.format(folder=folder))
    server = f"mount -t tmpfs tmpfs /run && mkdir /run/sshd && /usr/sbin/sshd -f {folder}/sshd_config"
    done = hosts.run(name, "sh", "-c", server)
    assert done.returncode == 0, done.stderr
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nexec ssh -F {folder}/ssh_config "$@"\n')
    program.chmod(0o700)
    return program


def test_real_ssh(workshop_home: Path, probe_workloads: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(os.geteuid() == 0, "only root can start an sshd that others log in to")
    need(Path("/usr/sbin/sshd").exists(), "sshd is not installed")
    with emulated(2) as hosts:
        monkeypatch.setattr(EmulatedHosts, "ssh", with_sshd(hosts, "hostB", tmp_path))
        with session_on(hosts, workshop_home, "hostA:1,hostB:1") as session:
            assert [rank["host"] for rank in session.now.rank_map["ranks"]] == ["hostA", "hostB"]
            run = session.submit("tell", events=100_000, every=0.02)
            session.started(run)
            assert hosts.run("hostB", "pkill", "-9", "-x", "sshd").returncode == 0
            ended = session.wait(run, 20)
            assert (ended.status, ended.error["type"]) == ("failed", "SiteLost")
            assert "hostB is lost" in ended.error["message"]
            until(lambda: not running(hosts, "hostB"), 15, "hostB to be clean")


@pytest.mark.exhaustive
def test_a_host_whose_memory_is_full(workshop_home: Path, probe_workloads: None) -> None:
    """The emulated hosts share a control group, as they would share a machine; only hostB has ranks."""
    with control_group(1400 << 20) as group, emulated(2) as hosts:
        switch = psutil.Process(hosts._switch.pid)
        join(group, switch.pid, *(process.pid for process in switch.children(recursive=True)))
        with session_on(hosts, workshop_home, "hostA:2,hostB:2") as session:
            there = Placement(ranks=2, hosts=hosts_from("hostB:2"), bind_to="none")
            ended = session.run("fill", there, rank=1, batch=8, epochs=1000)
            assert (ended.status, ended.error["type"]) == ("failed", "OutOfMemory"), ended.error
            assert (ended.error["rank"], ended.error["host"]) == (1, "hostB")
            assert "hostB" in ended.error["message"] and "fewer ranks" in ended.error["message"]
            assert session.run("fill", there, epochs=2).status == "completed"
