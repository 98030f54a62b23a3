"""Emulated hosts: apart from each other, reachable as by ssh, and gone with whoever made them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.hosts import emulated
from tests.support import limit, until
from workshop.cli.emulation import remote
from workshop.cli.emulation.hosts import EmulatedHosts
from workshop.core.errors import BadInput

OWNER = """
import sys, time
from workshop.cli.emulation.hosts import EmulatedHosts
hosts = EmulatedHosts(2)
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.real
def test_hosts_are_apart_and_reach_each_other(workshop_home: Path) -> None:
    with emulated(3) as hosts:
        assert hosts.names == ["hostA", "hostB", "hostC"]
        assert [hosts.run(name, "hostname").stdout.strip() for name in hosts.names] == hosts.names
        seen = hosts.run("hostA", "ps", "-e", "-ww", "-o", "args=").stdout
        assert "hostA" in seen and "hostB" not in seen, "processes of other hosts are not seen"

        done = hosts.run("hostA", str(hosts.ssh), "-x", "-o", "A=b", "hostB", "echo $(hostname) $SHELL; exit 7")
        assert (done.returncode, done.stdout) == (7, "hostB /bin/sh\n")
        secret = hosts.run("hostA", str(hosts.ssh), "hostB", "env", SECRET="x")
        assert "SECRET" not in secret.stdout, "a login begins with a fresh environment"
        piped = hosts.run("hostA", "sh", "-c", f"seq 5 | {hosts.ssh} hostC wc -l")
        assert piped.stdout.strip() == "5"
        unknown = hosts.run("hostA", str(hosts.ssh), "hostX", "true")
        assert unknown.returncode == remote.LOST
        assert "connect to host hostX port 22" in unknown.stderr

        hosts.run("hostA", "touch", "/dev/shm/hosts-have-their-own")
        assert not Path("/dev/shm/hosts-have-their-own").exists()
        assert socket.gethostname() not in hosts.names
        folder = hosts.folder
    assert not folder.exists()


@pytest.mark.real
def test_a_cut_link_breaks_the_line_and_a_joined_one_works(workshop_home: Path) -> None:
    with emulated(2) as hosts:
        command = hosts.command("hostA", [str(hosts.ssh), "hostB", "echo begun; sleep 60"])
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as line:
            assert line.stdout is not None and line.stdout.readline() == "begun\n"
            hosts.cut("hostB")
            assert line.wait(limit(20)) == remote.LOST
        hosts.join("hostB")
        assert hosts.run("hostA", str(hosts.ssh), "hostB", "hostname").stdout == "hostB\n"
        hosts.kill("hostB")
        assert hosts.run("hostA", str(hosts.ssh), "hostB", "hostname").returncode == remote.LOST


@pytest.mark.real
def test_a_link_is_as_slow_as_it_should_be(workshop_home: Path) -> None:
    with emulated(2, 20e6) as hosts:
        before = hosts.sent("hostA")
        began = time.monotonic()
        done = hosts.run("hostA", "sh", "-c", f"head -c 2500000 /dev/zero | {hosts.ssh} hostB 'wc -c'")
        assert done.stdout.strip() == "2500000", done.stderr
        assert time.monotonic() - began > 0.9, "20 Mbit at 20 Mbit/s take a second"
        assert hosts.sent("hostA") - before > 2_500_000


@pytest.mark.real
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_owner_is_killed(workshop_home: Path, how: signal.Signals) -> None:
    with emulated(1):
        pass
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == "up\n"
        ours = psutil.Process(owner.pid).children(recursive=True)
        assert len(ours) >= 8, "the switch, two hosts, and what is between"
        os.kill(owner.pid, how)
        _, alive = psutil.wait_procs(ours, timeout=limit(30))
        assert not alive
    until(lambda: not list((workshop_home / "demo").iterdir()), 20, "the folder to be removed")


def test_too_many_hosts_are_refused(workshop_home: Path) -> None:
    with pytest.raises(BadInput, match="hosts is 17: it should be from 1 to 16"):
        EmulatedHosts(17)
