"""How much memory there is, whoever limits it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.control_groups import control_group, inside
from tests.support import limit
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.memory import Gauge, MemoryUsage, forget_peak, private_bytes, private_peak

MIB = 2**20
MEMINFO = f"MemTotal: {16 << 20} kB\nMemFree: {1 << 20} kB\nMemAvailable: {8 << 20} kB\n"


def tree(root: Path, cgroup: str, mount: str, files: dict[str, str]) -> Gauge:
    """A gauge of a machine with 16 GiB, 8 of them available, and these control groups."""
    told = {"proc/meminfo": MEMINFO, "proc/vmstat": "nr_free_pages 7\noom_kill 3\n", "proc/self/cgroup": cgroup}
    for name, text in {**told, "proc/self/mountinfo": mount, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Gauge(root)


V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
V1_MOUNT = "35 31 0:32 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
STAT = f"anon 5\ninactive_file {20 * MIB}\nactive_file {40 * MIB}\n"


def group(folder: str, limit: object, usage: int, high: object = "max", kills: int = 0) -> dict[str, str]:
    return {
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.high": f"{high}\n",
        f"{folder}/memory.current": f"{usage}\n",
        f"{folder}/memory.stat": STAT,
        f"{folder}/memory.events": f"low 0\nhigh 0\nmax 9\noom 1\noom_kill {kills}\n",
    }


def test_without_control_groups(tmp_path: Path) -> None:
    gauge = tree(tmp_path, "", "", {})
    assert gauge.read() == [MemoryUsage(16 << 30, 8 << 30)]
    assert gauge.kills() == 3


def test_version_2_looks_at_all_groups_around(tmp_path: Path) -> None:
    files = {
        **group("sys/fs/cgroup/user.slice", 4 << 30, 1 << 30, kills=8),
        **group("sys/fs/cgroup/user.slice/session-1.scope", "max", 500 * MIB, kills=2),
    }
    gauge = tree(tmp_path, "0::/user.slice/session-1.scope\n", V2_MOUNT, files)
    assert gauge.read() == [MemoryUsage(16 << 30, 8 << 30), MemoryUsage(4 << 30, (3 << 30) + 40 * MIB, group=True)]
    assert gauge.tightest().total == 4 << 30
    assert gauge.kills() == 2, "of the innermost group"
    slowed = tree(tmp_path, "0::/user.slice\n", V2_MOUNT, group("sys/fs/cgroup/user.slice", 4 << 30, 0, high=2 << 30))
    assert slowed.tightest() == MemoryUsage(2 << 30, 2 << 30, group=True)


def test_a_container_of_version_1_sees_its_own_group_where_the_hosts_path_is_told(tmp_path: Path) -> None:
    own = "sys/fs/cgroup/memory"
    files = {
        f"{own}/memory.limit_in_bytes": f"{600 * MIB}\n",
        f"{own}/memory.usage_in_bytes": f"{590 * MIB}\n",
        f"{own}/memory.stat": f"cache 1\ntotal_inactive_file {4 * MIB}\ntotal_active_file {2 * MIB}\n",
        f"{own}/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
    }
    gauge = tree(tmp_path, "4:memory:/docker/abc\n2:cpu:/docker/abc\n", V1_MOUNT.format(root="/docker/abc"), files)
    assert gauge.tightest() == MemoryUsage(600 * MIB, 15 * MIB, group=True)
    assert gauge.kills() == 5
    unlimited = {f"{own}/memory.limit_in_bytes": "9223372036854771712\n"}
    assert len(tree(tmp_path, "4:memory:/other\n", V1_MOUNT.format(root="/"), unlimited).read()) == 1


def test_files_that_vanish_limit_nothing(tmp_path: Path) -> None:
    gauge = tree(tmp_path, "0::/\n", V2_MOUNT, group("sys/fs/cgroup", 4 << 30, 1 << 30, kills=2))
    assert gauge.kills() == 2 and gauge.tightest().total == 4 << 30
    shutil.rmtree(tmp_path / "sys")
    assert gauge.tightest() == MemoryUsage(16 << 30, 8 << 30)
    assert gauge.kills() == 0
    shutil.rmtree(tmp_path / "proc")
    total = psutil.virtual_memory().total  # which the kernel tells without a file, too
    assert gauge.tightest() == MemoryUsage(total, total), "nobody is ended for what nobody has seen"


def test_this_machine_and_this_process() -> None:
    total = psutil.virtual_memory().total
    assert Gauge().read()[0].total == total
    assert 0 < Gauge().tightest().available <= total
    before = private_bytes(os.getpid())
    block = b"x" * (64 * MIB)
    after = private_bytes(os.getpid())
    assert before is not None and after is not None
    assert 60 * MIB < after - before < 80 * MIB, len(block)
    assert private_bytes(2**22 + 1) is None


@pytest.mark.real
def test_who_is_ended_by_the_kernel_in_a_real_group_is_counted() -> None:
    """And what the group has left is told."""
    program = (
        "import json, subprocess, sys\n"
        "from workshop.core.memory import Gauge\n"
        "gauge = Gauge()\n"
        "before, there = gauge.kills(), gauge.tightest()\n"
        "filled = subprocess.run([sys.executable, '-c', 'x = b\"x\" * (200 << 20)'])\n"
        "print(json.dumps([filled.returncode, gauge.kills() - before, there.total, there.available, there.group]))\n"
    )
    with control_group(100 * MIB) as folder:
        told = subprocess.run(
            inside(folder, [sys.executable, "-c", program]), capture_output=True, text=True, timeout=limit(60)
        )
    assert told.returncode == 0, told.stderr
    code, kills, total, available, limited = json.loads(told.stdout)
    assert (code, kills, total, limited) == (-9, 1, 100 * MIB, True)
    assert 50 * MIB < available < 100 * MIB


@pytest.mark.parametrize(
    ("given", "limit"),
    [("", None), ("6G", 6 << 30), ("800m", 800 * MIB), ("1.5 GiB", 3 << 29), ("4096", 4096), ("2TB", 2 << 40)],
)
def test_a_limit_of_ones_own(given: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_MEMORY", given)
    assert config.memory_limit() == limit


@pytest.mark.parametrize("given", ["much", "-1G", "0", "50%", "6GG"])
def test_a_limit_that_is_no_size(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_MEMORY", given)
    with pytest.raises(BadInput, match=r"WORKSHOP_MEMORY is '.+'; it should be a size like 6G"):
        config.memory_limit()


def test_the_peak_of_private_memory_counts_what_was_given_back() -> None:
    forget_peak()
    before = private_bytes(os.getpid()) or 0
    block = bytearray(64 << 20)
    block[::4096] = b"x" * (len(block) // 4096)
    del block
    assert private_peak() > before + (60 << 20)
    forget_peak()
    assert private_peak() < before + (30 << 20)
