"""A census of this process's threads: how many there are of each kind, how many of them work, and for how long.

Found with TensorFlow 2.21, Horovod 0.28 and Open MPI 5.0 under Linux (`of_thread` says which is which):

- TensorFlow names its threads, but only those of its inter-op pool ("tf_Compute") and single ones carry the name that
  the kernel knows. The intra-op pool, which runs the kernels, is called "tf_numa_-1_Eigen": one letter more than the
  kernel takes, so it refuses, and these threads are called "python" like the one that made them.
- libgomp, OpenBLAS, Numba, Horovod, Open MPI (PMIx) and Python 3.11 name none of their threads.
- ZeroMQ names all of its own ("ZMQbg/..."); our reporter names itself. ipyparallel's threads (its heart among them) are
  Python's and ZeroMQ's, without names of their own.

So kinds are told by where a thread began (`Origins`), and by its name where that isn't known. Nothing distinguishes
Numba's threads from other OpenMP ones where its threading layer is OpenMP (its others can), which of several OpenBLAS
or OpenMP libraries they belong to who share a process, and, without origins, all nameless ones from each other.

Times are the kernel's: nanoseconds where it tells them (/proc/self/task/TID/schedstat: at work, and ready but waiting
for a processor), else clock ticks of 10 ms, and nothing of waiting.

Where the threads of this process began: in which library, and what TensorFlow calls its own.

Most threads have no name of their own: the kernel gives them that of the thread which made them, "python". But glibc
keeps the function with which each thread began, and what was given to it (`start_routine` and `arg` of its `struct
pthread`); where that lies the kernel tells (get_robust_list(2): the list's head is part of it, right behind the
thread's tid). So nothing is guessed from the order in which threads appear, and no offset of a version of glibc is
built in. Memory is read through /proc/self/mem, which answers with an error where there is none any more. Where any of
this can't be done (another libc or processor, a sandbox that forbids it), threads have no origin, and their names must
do. Yama's ptrace_scope is no hindrance: a process may always look at its own threads.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from workshop.core.rank_map import TASKS, KernelThread, tasks

TICKS = os.sysconf("SC_CLK_TCK")  # in a second
LEAST_WORK = 0.01  # share of the time for which a thread must have been at work to count as one that worked
HALF = 0.5  # and of what those did that worked longer, on average: helpers that only wake up now and then don't count

# Libraries in which threads begin, the first that fits.
_LIBRARIES = (
    ("tensorflow", r"tensorflow"),
    ("openmp", r"libgomp|libiomp|libomp\b"),
    ("blas", r"openblas|libblis"),
    ("tbb", r"libtbb|^tbbpool\."),
    ("numba", r"^workqueue\."),
    ("horovod", r"^mpi_lib"),
    ("mpi", r"libmpi|libpmix|libprrte|libopen-pal|libopen-rte|libevent|libuc[spt]\b|libfabric"),
    ("zeromq", r"libzmq"),
    ("python", r"libpython|^python"),
)
_PATTERNS = [(kind, re.compile(pattern)) for kind, pattern in _LIBRARIES]
INTER, INTRA = "inter-op", "intra-op"  # TensorFlow's pools
Key = tuple[int, int]  # tid and start of a thread


def of_thread(task: KernelThread, origin: Origin | None, main: int) -> str:
    """The kind of a thread: main (the thread that runs the workload), intra-op, inter-op, tensorflow (its others),
    openmp, blas, tbb, numba, horovod, mpi, zeromq, reporter, python, other."""
    if task.tid == main:
        return "main"
    if task.name == "reporter":
        return "reporter"
    if origin is None:
        return _of_name(task.name)
    kind = next((kind for kind, pattern in _PATTERNS if pattern.search(origin.library)), "other")
    return _of_tensorflow(origin.name or task.name) if kind == "tensorflow" else kind


def _of_name(name: str) -> str:
    if name.startswith("tf_"):
        return _of_tensorflow(name)
    return "zeromq" if name.startswith("ZMQ") else "other"


def _of_tensorflow(name: str) -> str:
    return INTER if name == "tf_Compute" else INTRA if name.endswith("Eigen") else "tensorflow"


class Did(NamedTuple):
    """A thread's work and waiting, in seconds."""

    worked: float
    waited: float | None  # ready, but for a processor; None where the kernel doesn't tell


class Census:
    """Counts threads and their work from `begin` to the last `look`. A look takes some 20 us for each thread, of which
    there may be hundreds. The first look, which finds out the kinds of all threads, takes some ten milliseconds."""

    def __init__(self) -> None:
        self._origins = Origins()
        self._kinds: dict[Key, str] = {}
        self._began: float | None = None
        self._first: dict[Key, Did] = {}
        self._last: dict[Key, Did] = {}
        self._most: Counter[str] = Counter()
        self._at = 0.0  # when it was looked last
        self.seconds = 0.0  # between both

    @property
    def looked(self) -> bool:
        """Whether the census has counted anything."""
        return bool(self._last)

    def begin(self) -> None:
        """Count from now on."""
        self._last, self._most, self.seconds = {}, Counter(), 0.0
        self._first = {(task.tid, task.started): _did(task) for task in self._tasks()}
        self._began = time.monotonic()

    def look(self, interval: float = 0.0) -> None:
        """Count the threads, unless the last count is younger than `interval` seconds. A census that was never begun
        counts from the start of each thread."""
        if self.looked and time.monotonic() - self._at < interval:
            return
        counts: Counter[str] = Counter()
        for task in self._tasks():
            key = task.tid, task.started
            counts[self._kinds[key]] += 1
            self._last[key] = _since(self._first.get(key), _did(task))
        self._most |= counts  # the larger count of each kind
        self._at = time.monotonic()
        if self._began is not None:
            self.seconds = self._at - self._began

    def as_json(self) -> dict[str, dict[str, Any]]:
        """For each kind: `count` (at the same time, at most), `busy` (threads that worked, see `working`), `seconds` of
        work, and `waited`, the seconds of waiting for a processor; None where that isn't known."""
        busy = working({key: did.worked for key, did in self._last.items()}, LEAST_WORK * self.seconds)
        return {kind: self._of_kind(kind, count, busy) for kind, count in sorted(self._most.items())}

    def _of_kind(self, kind: str, count: int, busy: Set[Key]) -> dict[str, Any]:
        of_kind = {key: did for key, did in self._last.items() if self._kinds[key] == kind}
        waits = [did.waited for did in of_kind.values() if did.waited is not None]
        return {
            "count": count,
            "busy": min(len(busy & of_kind.keys()), count),
            "seconds": round(sum(did.worked for did in of_kind.values()), 4),
            "waited": round(sum(waits), 4) if waits else None,
        }

    def _tasks(self) -> list[KernelThread]:
        """All threads, once their kinds are known."""
        present = list(tasks())
        new = [task for task in present if (task.tid, task.started) not in self._kinds]
        if new:
            main = os.getpid()
            origins = self._origins.find(task.tid for task in new if task.tid != main)
            for task in new:
                self._kinds[task.tid, task.started] = of_thread(task, origins.get(task.tid), main)
        return present


def working(seconds: Mapping[Any, float], least: float) -> set[Any]:
    """The threads that worked for at least `least` seconds, and for at least half the average of the threads that
    worked longer. So every thread of a pool counts, and helpers that wake up now and then don't."""
    busy: set[Any] = set()
    total = 0.0
    for key in sorted(seconds, key=lambda key: -seconds[key]):
        if seconds[key] < max(least, HALF * total / max(len(busy), 1)) or not seconds[key]:
            break
        busy.add(key)
        total += seconds[key]
    return busy


class CoreTime:
    """The work of the thread that runs the workload, and its waiting for a processor, between the first call of `look`
    and the last one. A look takes some 10 us."""

    def __init__(self) -> None:
        self._first: Did | None = None
        self._last: Did | None = None

    def look(self) -> None:
        self._last = _scheduled(os.getpid())
        self._first = self._first or self._last

    def as_json(self) -> dict[str, float] | None:
        """`worked` and `waited`, in seconds; None where the kernel doesn't tell, as in some containers."""
        if self._first is None or self._last is None:
            return None
        worked, waited = _since(self._first, self._last)
        return {"worked": round(worked, 6), "waited": round(waited, 6)} if worked > 0 and waited is not None else None


def _did(task: KernelThread) -> Did:
    return _scheduled(task.tid) or Did(task.ticks / TICKS, None)


def _scheduled(tid: int) -> Did | None:
    """The kernel's figures of a thread; None from a kernel without them, and of a thread that has just ended."""
    try:
        file = os.open(f"{TASKS}/{tid}/schedstat", os.O_RDONLY)
        try:
            worked, waited, *_ = os.read(file, 128).split()
        finally:
            os.close(file)
        return Did(int(worked) / 1e9, int(waited) / 1e9)
    except (OSError, ValueError):
        return None


def _since(first: Did | None, last: Did) -> Did:
    if first is None:
        return last
    waited = None if first.waited is None or last.waited is None else max(last.waited - first.waited, 0.0)
    return Did(max(last.worked - first.worked, 0.0), waited)


def count() -> Census:
    """The threads that this process has now, and what each has done since it was made."""
    census = Census()
    census.look()
    return census


def add_census(census_of_rank: Census, comm: Any, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a run with `threads`, the census of each rank, and `threads_seconds`, over which they counted:
    where the workload has trained, since it is the loop that begins a census. Collective then, on all ranks alike."""
    if not census_of_rank.looked:
        return dict(metrics)
    every = comm.gather((census_of_rank.as_json(), census_of_rank.seconds))
    if every is None:
        return dict(metrics)
    longest = max(seconds for _, seconds in every)
    return {**metrics, "threads": [census for census, _ in every], "threads_seconds": round(longest, 3)}


_GET_ROBUST_LIST = {"x86_64": 274, "aarch64": 100}.get(platform.machine(), 0)  # the call's number; 0: not known
MEMORY = "/proc/self/mem"
_BEFORE = 16  # bytes from a thread's tid to the head of its list; checked by the tid itself
_LENGTH = 1536  # bytes behind which the start function has never been
_LONGEST_NAME = 64


class Origin(NamedTuple):
    library: str  # name of the file
    name: str  # that TensorFlow gave the thread; "" for others


class _Mapping(NamedTuple):
    begin: int
    end: int
    code: bool
    library: str


class Origins:
    """Finds threads' origins, and remembers the loaded libraries."""

    def __init__(self) -> None:
        self._loaded: list[_Mapping] = []
        self._begins: list[int] = []

    def find(self, tids: Iterable[int]) -> dict[int, Origin]:
        """The known origins of threads. After a library was loaded, it takes some ten milliseconds to read the
        addresses again."""
        if not _GET_ROBUST_LIST:
            return {}
        try:
            memory = os.open(MEMORY, os.O_RDONLY)
        except OSError:
            return {}
        origins, fresh = {}, False
        try:
            for tid in tids:
                origin = self._origin(memory, tid)
                if origin is None and not fresh:
                    self._load()
                    origin, fresh = self._origin(memory, tid), True
                if origin is not None:
                    origins[tid] = origin
        finally:
            os.close(memory)
        return origins

    def _origin(self, memory: int, tid: int) -> Origin | None:
        head, length = ctypes.c_void_p(), ctypes.c_size_t()
        arguments = ctypes.c_long(_GET_ROBUST_LIST), ctypes.c_long(tid), ctypes.byref(head), ctypes.byref(length)
        failed = _libc.syscall(*arguments)
        if failed or not head.value:
            return None
        thread_memory = _read(memory, head.value - _BEFORE, _LENGTH)
        words = struct.unpack_from(f"<{len(thread_memory) // 8}Q", thread_memory)
        if not words or words[0] & 0xFFFFFFFF != tid:
            return None
        for start, argument in pairwise(words):
            began = self._at(start)
            if began is not None and began.code:
                return self._named(memory, began.library, argument)
        return None

    def _named(self, memory: int, library: str, argument: int) -> Origin:
        if library.startswith("libstdc++"):
            # std::thread begins there whoever makes it; what it is given is an object whose first word points into the
            # library of its class.
            (table,) = struct.unpack("<Q", _read(memory, argument, 8) or bytes(8))
            owner = self._at(table)
            return Origin(owner.library if owner else library, "")
        if "tensorflow" in library:
            # What is given begins with the thread's name, a std::string: its address and its length.
            text = _read(memory, argument, 16)
            at, length = struct.unpack("<QQ", text) if len(text) == 16 else (0, 0)
            name = _read(memory, at, length) if 0 < length < _LONGEST_NAME else b""
            return Origin(library, name.decode() if name.isascii() and name.decode().isprintable() else "")
        return Origin(library, "")

    def _at(self, address: int) -> _Mapping | None:
        place = bisect_right(self._begins, address) - 1
        if place < 0 or address >= self._loaded[place].end:
            return None
        return self._loaded[place]

    def _load(self) -> None:
        self._loaded = []
        try:
            lines = Path("/proc/self/maps").read_text().splitlines()
        except OSError:
            lines = []
        for line in lines:
            place, rights, _, _, _, *file = line.split(None, 5)
            if file and file[0].startswith("/"):
                begin, _, end = place.partition("-")
                self._loaded.append(_Mapping(int(begin, 16), int(end, 16), rights[2] == "x", os.path.basename(file[0])))
        self._begins = [mapping.begin for mapping in self._loaded]


_libc = ctypes.CDLL(None)
_libc.syscall.restype = ctypes.c_long


def _read(memory: int, at: int, length: int) -> bytes:
    try:
        return os.pread(memory, length, at)
    except (OSError, OverflowError):
        return b""
