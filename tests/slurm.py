"""A real Slurm of a test session's own: three nodes on this machine, in a temporary folder, gone afterwards.

No systemd, no cgroups, no ports or names that anybody else has. A keeper, `python -m tests.slurm FOLDER …`, starts the
daemons and ends them with all their jobs when it is asked to, and when pytest is killed. Where the kernel lets us,
each node has a host name of its own, so that it can be told apart from the others and from this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support import limit, need, until
from tests.watchdog import temporary_folder
from workshop.core.parent_death import end_with_parent, guarded
from workshop.core.ports import free_ports

NODES = ("wsn1", "wsn2", "wsn3")
CPUS = 2  # of each node, whatever this machine has
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
SLOW = "slow"
EPILOG = f"""#!/bin/sh
if [ -e "${{0%/*}}/{SLOW}" ]; then sleep 1.5; fi
"""  # what nodes do after each job
ENDED = limit(20)  # seconds that jobs and daemons get to end

CONFIGURATION = """\
ClusterName=workshop
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
Epilog={folder}/epilog
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
KillWait=1
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=main Nodes=ALL Default=YES MaxTime=120 State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=120 State=UP PriorityTier=9 PreemptMode=OFF
PartitionName=staff Nodes=ALL MaxTime=120 State=UP AllowAccounts=staff
"""


@dataclass(frozen=True)
class Slurm:
    """A running Slurm, which commands find by `environment`."""

    folder: Path
    address: str  # of all its parts: this machine's own on a network, where it has one
    told_apart: bool  # whether its nodes have host names of their own

    @property
    def slow(self) -> Path:
        """While this file is there, jobs that have ended stay a moment in the state COMPLETING."""
        return self.folder / SLOW

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def ask(self, *command: str) -> str:
        """What one of Slurm's commands answers. Raises CalledProcessError."""
        asked = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, timeout=limit(30), check=True
        )
        return asked.stdout.strip()

    def jobs(self) -> list[str]:
        """Numbers of the jobs that wait or run; those that have been ended may take a moment to be gone."""
        return self.ask("squeue", "-h", "-t", "PENDING,CONFIGURING,RUNNING,SUSPENDED", "-o", "%i").split()

    def idle(self) -> bool:
        """Whether no job is left, and every node takes the next one."""
        nodes = self.ask("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split()
        return not self.jobs() and nodes == ["idle"] * len(NODES)


@contextmanager
def slurm() -> Iterator[Slurm]:
    """Start a Slurm and end it afterwards; skips (in CI: fails) where it is not installed."""
    missing = [name for name in PROGRAMS if _program(name) is None]
    need(not missing, f"Slurm ({', '.join(missing)}; Debian's packages slurmctld slurmd slurm-client munge)")
    # Not pytest's folder: that is too deep for a socket's name.
    folder = temporary_folder("slurm")
    words = [sys.executable, "-m", "tests.slurm", str(folder), str(os.getpid())]
    keeper = subprocess.Popen(words, cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: (folder / "ready").exists() or keeper.poll() is not None, 90, "Slurm's nodes to be idle")
        assert keeper.poll() is None, "Slurm did not start"
        address, told_apart = (folder / "ready").read_text().split()
        yield Slurm(folder, address, told_apart == "True")
    finally:
        keeper.terminate()
        try:
            keeper.wait(3 * ENDED)
        finally:
            keeper.kill()


# The keeper.


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _address() -> str:
    """An address by which this machine reaches itself as it would another one: loopback where it has no network."""
    addresses = [
        address.address
        for name, found in psutil.net_if_addrs().items()
        for address in found
        if address.family == socket.AF_INET and psutil.net_if_stats()[name].isup
    ]
    return next((address for address in addresses if not address.startswith("127.")), "127.0.0.1")


def _namespace() -> list[str] | None:
    """What a command has to be started with to have a host name of its own; None where the kernel refuses."""
    user = ["--user", "--map-current-user", "--keep-caps"] if os.geteuid() else []
    words = ["unshare", *user, "--uts"]
    try:
        tried = subprocess.run([*words, "hostname", NODES[0]], capture_output=True, timeout=limit(10))
    except OSError:
        return None
    return words if tried.returncode == 0 else None


def _in_namespace(words: list[str], name: str, command: list[str]) -> list[str]:
    return [*words, "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", name, *command]


def _keep(folder: Path) -> None:
    """Start the daemons, say that they are ready, and wait for the end."""
    host, address = socket.gethostname(), _address()
    user = pwd.getpwuid(os.geteuid()).pw_name
    namespace = _namespace()
    ports = free_ports(len(NODES) + 1, address)
    lines = [
        f"NodeName={name} NodeHostname={name if namespace else host} NodeAddr={address} Port={port} "
        f"CPUs={CPUS} RealMemory=1000 State=UNKNOWN"
        for name, port in zip(NODES, ports, strict=False)
    ]
    configuration = CONFIGURATION.format(host=host, address=address, port=ports[-1], user=user, folder=folder)
    head, partitions = configuration.split("PartitionName", 1)
    (folder / "slurm.conf").write_text(head + "\n".join(lines) + "\nPartitionName" + partitions)
    (folder / "epilog").write_text(EPILOG)
    (folder / "epilog").chmod(0o755)
    folder.chmod(0o755)  # munge wants its socket where everybody can look
    (folder / "munge.key").write_bytes(secrets.token_bytes(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir()
    environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def start(name: str, *words: str, within: str | None = None) -> None:
        command = [str(_program(name)), *words]
        if within and namespace:
            command = _in_namespace(namespace, within, command)
        with open(folder / f"{within or name}.out", "wb") as output:
            subprocess.Popen(guarded(command), env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    munge = {name: folder / f"munge.{name}" for name in ("key", "sock", "pid", "seed", "log")}
    start(
        "munged", "--foreground", "--force", f"--key-file={munge['key']}", f"--socket={munge['sock']}",
        f"--pid-file={munge['pid']}", f"--seed-file={munge['seed']}", f"--log-file={munge['log']}",
    )  # fmt: skip
    until(munge["sock"].exists, 20, "munge's socket")
    start("slurmctld", "-D", "-c")
    for node in NODES:
        start("slurmd", "-D", "-N", node, within=node)

    def ready() -> bool:
        words = ["sinfo", "-h", "-N", "-p", "main", "-o", "%T"]
        asked = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=limit(10))
        return asked.stdout.split() == ["idle"] * len(NODES)

    try:
        until(ready, 60, "Slurm's nodes to be idle")
    except AssertionError:
        for log in sorted([*folder.glob("*.log"), *folder.glob("*.out")]):
            print(f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}", file=sys.stderr)
        raise
    (folder / "ready.new").write_text(f"{address} {namespace is not None}")
    (folder / "ready.new").rename(folder / "ready")
    while True:
        signal.pause()


def _end(folder: Path) -> None:
    """End all jobs, then everything that still descends from us, and remove the folder."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        user = pwd.getpwuid(os.geteuid()).pw_name
        subprocess.run(["scancel", "-u", user], env=environment, capture_output=True, timeout=ENDED)
        deadline = time.monotonic() + ENDED / 2
        while time.monotonic() < deadline:
            asked = subprocess.run(["squeue", "-h"], env=environment, capture_output=True, text=True, timeout=ENDED)
            if not asked.stdout.strip():
                break
            time.sleep(0.1)
    # Jobs' processes leave their daemon, but not their nearest subreaper, which we are.
    for end in (psutil.Process.terminate, psutil.Process.kill):
        left = psutil.Process().children(recursive=True)
        for process in left:
            with contextlib.suppress(psutil.Error):
                end(process)
        psutil.wait_procs(left, timeout=ENDED / 4)
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parent", type=int)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        end_with_parent(options.parent)
        _keep(options.folder)
    finally:
        _end(options.folder)


if __name__ == "__main__":
    main()
