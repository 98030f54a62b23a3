"""The memory of this machine, or of the control group that this process is in (a container, a job).

In a container, /proc/meminfo is the host's: only the files of the control group tell how much a program may have. See
the kernel's admin-guide/cgroup-v2.rst and admin-guide/cgroup-v1/memory.rst, proc_meminfo(5) and proc_pid_statm(5).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SPARE = 0.04  # share of the memory that a run must leave
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class MemoryUsage:
    """The memory of a machine or of a control group, in bytes."""

    total: int
    available: int  # to programs, without swapping
    group: bool = False

    @property
    def used(self) -> int:
        return self.total - self.available


@dataclass(frozen=True)
class _Files:
    """The names of the files that a version of control groups has."""

    limits: tuple[str, ...]
    usage: str
    inactive: str  # in memory.stat: pages of files that the kernel can take back
    active: str
    events: str  # the file that counts whom the kernel has ended


_V1 = _Files(
    ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file", "total_active_file",
    "memory.oom_control",
)  # fmt: skip
# The kernel slows programs down beyond memory.high until nothing moves any longer: that is a limit, too.
_V2 = _Files(("memory.max", "memory.high"), "memory.current", "inactive_file", "active_file", "memory.events")


class Gauge:
    """Finds the files with this process's memory once, and reads them as often as needed: some 20 µs, and 100 µs more
    for each control group that has a limit."""

    def __init__(self, root: Path = Path("/")) -> None:
        """`root` is where proc and sys are."""
        self._proc = root / "proc"
        groups = list(_groups(root))
        total = self._machine().total
        self._limited = [(folder, files) for folder, files in groups if _limit(folder, files) < total]
        counting = [folder / files.events for folder, files in groups if "oom_kill" in _counts(folder / files.events)]
        # That of our own group counts nobody else's; the machine's is all that there is outside of any.
        self._events = counting[0] if counting else self._proc / "vmstat"

    def read(self) -> list[MemoryUsage]:
        """The memory of the machine, then of every control group with a lower limit."""
        return [self._machine(), *(_memory(folder, files) for folder, files in self._limited)]

    def tightest(self) -> MemoryUsage:
        """The limit with the least available memory."""
        return min(self.read(), key=lambda memory: memory.available)

    def kills(self) -> int:
        """How many processes the kernel has ended for want of memory since it began to count."""
        return _counts(self._events).get("oom_kill", 0)

    def _machine(self) -> MemoryUsage:
        counts = _counts(self._proc / "meminfo")
        if not {"MemTotal", "MemAvailable"} <= counts.keys():  # a sandbox without it, or no file may be opened any more
            total = os.sysconf("SC_PHYS_PAGES") * _PAGE
            return MemoryUsage(total, total)  # without figures, no rank is ended
        return MemoryUsage(counts["MemTotal"] << 10, counts["MemAvailable"] << 10)


def give_way() -> None:
    """Have the kernel end this process and its children before others when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def private_bytes(pid: int) -> int | None:
    """The bytes that a process has for itself: its resident memory without files and without memory that it shares with
    others, which would be counted several times. None for a process that has ended. Takes some 40 µs."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return None
    return (int(resident) - int(shared)) * _PAGE


def forget_peak() -> None:
    """Have `private_peak` count this process's memory from now on, where the kernel can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def private_peak() -> int:
    """The most bytes that this process had for itself, as `private_bytes` counts them: the highest resident memory
    without what is shared at present."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    names = ("VmHWM", "RssFile", "RssShmem")
    if not status.keys() >= set(names):  # as in some containers
        return private_bytes(os.getpid()) or 0
    kib = {name: int(status[name].split()[0]) for name in names}
    return (kib["VmHWM"] - kib["RssFile"] - kib["RssShmem"]) << 10


def size(count: float) -> str:
    """Bytes of memory with three digits: 812 MiB, 3.24 GiB."""
    for factor, unit in _UNITS:
        if count >= factor:
            return f"{count / factor:.{max(2 - (len(str(int(count / factor))) - 1), 0)}f} {unit}"
    return f"{count:.0f} bytes"


def help_for(ranks: int) -> str:
    """Advice for a run on so many ranks that needs less memory."""
    return f"take {'fewer ranks, ' if ranks > 1 else ''}a smaller batch or a smaller size"


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """The control groups that this process is in, the innermost first, then those around it."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        kind, files = ("cgroup2", _V2) if not controllers else ("cgroup", _V1)
        if controllers and "memory" not in controllers.split(","):
            continue
        for mount in mounts:
            # What is mounted may have no name: nothing between two spaces.
            mount_words, type_words = (half.split(" ") for half in (mount + " - ").split(" - ")[:2])
            (base, point), kind_of_mount, options = mount_words[3:5], type_words[0], type_words[2]
            if kind_of_mount == kind and (not controllers or "memory" in options.split(",")):
                top = root / point.lstrip("/")
                # In a container the path may be as the host sees it; what is mounted is the container's own then.
                inside = os.path.relpath(path, base) if Path(path).is_relative_to(base) else "."
                folder = top if inside.startswith("..") else top / inside
                folder = folder if folder.is_dir() else top
                while folder.is_relative_to(top):
                    yield folder, files
                    folder = folder.parent
                break


def _limit(folder: Path, files: _Files) -> float:
    return min(_number(folder / name) for name in files.limits)


def _memory(folder: Path, files: _Files) -> MemoryUsage:
    """The memory of a machine as the kernel counts it: free memory, and the file pages that it can give up."""
    limit = _limit(folder, files)
    counts = _counts(folder / "memory.stat")
    spare = counts.get(files.inactive, 0) + counts.get(files.active, 0) // 2
    total = int(min(limit, 1 << 62))
    return MemoryUsage(total, int(min(max(total - _number(folder / files.usage, 0.0) + spare, 0), total)), group=True)


def _number(file: Path, otherwise: float = float("inf")) -> float:
    """The number in a file; `otherwise` where there is no file, or it reads "max"."""
    try:
        return int(file.read_bytes())
    except (OSError, ValueError):
        return otherwise


def _counts(file: Path) -> dict[str, int]:
    """The lines of a file that are a name and a number; none where it can't be read."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines)
    return {
        words_of_line[0].rstrip(":"): int(words_of_line[1])
        for words_of_line in words
        if len(words_of_line) > 1 and words_of_line[1].isdecimal()
    }
