"""Turns a forked process into a rank, with everything that the launcher would give a new program.

Libraries that were imported before the fork have read their variables already. The variables for numbers of threads are
applied here. A placement with other variables that libraries read gets no forked ranks (`forkable`).

A `Request` has a launcher's arguments and variables for a rank. The rank's stub sends them to the server.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from workshop.core.parent_death import PR_SET_PDEATHSIG
from workshop.core.placement import THREAD_VARIABLES
from workshop.core.processes import ENGINES_TAG

ROOM = "WORKSHOP_ROOM"  # a long variable of the server, in whose place the kernel shows those of a rank
ROOM_BYTES = 2048
VISIBLE = (ENGINES_TAG,)  # variables by which others find ranks, beside those that the server has as well
PR_SET_CHILD_SUBREAPER = 36
HIGH = 512  # descriptors from here on are nobody's
# What no library reads before the fork: the MPIs are loaded afterwards.
FREE = ("OMPI_", "PRTE_", "PMIX_", "I_MPI_", "MPICH_", "MPIR_", "HYDRA_", "UCX_", "FI_", "HOROVOD_", "MPI4PY_LIBMPI")


def forkable(variables: Iterable[str]) -> bool:
    """Whether variables have their full effect on a forked rank."""
    return all(name in THREAD_VARIABLES or name.startswith(FREE) for name in variables)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; ends at once if it has."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Have the kernel make this process the parent of all that its children leave behind, prctl(2)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def take_on(request: Request, closing: Collection[int]) -> None:
    """Become the rank that the launcher has started. `closing` are the server's descriptors, which a rank doesn't
    have."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setpgid(0, 0)
    _take_descriptors(request.descriptors, closing)
    os.chdir(request.folder)
    os.umask(request.mask)
    os.sched_setaffinity(0, request.cores)
    os.environb.clear()
    _show(request.variables)
    os.environb.update(request.variables)
    _set_threads()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # else all ranks would draw the same
    sys.argv[1:] = request.arguments


def _take_descriptors(received: dict[int, int], closing: Collection[int]) -> None:
    """Give each descriptor the number that it had in the launcher's process."""
    copies = {number: fcntl.fcntl(here, fcntl.F_DUPFD_CLOEXEC, HIGH) for number, here in received.items()}
    for here in {*received.values(), *closing}:
        os.close(here)
    for number, here in copies.items():
        os.dup2(here, number)
        os.close(here)


def _show(variables: dict[bytes, bytes]) -> None:
    """Write a rank's tags to the place where the kernel shows this process's variables. The C library doesn't read that
    place; it has the values of `os.environ`."""
    block = Path("/proc/self/environ").read_bytes()
    room = f"{ROOM}=".encode()
    offset = block.find(room)
    tags = b"".join(
        name.encode() + b"=" + variables[name.encode()] + b"\0" for name in VISIBLE if name.encode() in variables
    )
    if offset < 0 or len(tags) + len(room) > ROOM_BYTES:
        raise OSError(f"The server of ranks has no room for {len(tags)} bytes of variables.")
    begin = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47])  # env_start, proc(5)
    ctypes.memmove(begin + offset, tags + room, len(tags) + len(room))


def _set_threads() -> None:
    """Apply the variables by which loaded libraries would have taken their number of threads. TensorFlow takes its own
    later (`engine.tensorflow`)."""
    if "numpy" in sys.modules:
        import threadpoolctl

        for library in threadpoolctl.ThreadpoolController().lib_controllers:
            names = {"openblas": "OPENBLAS_NUM_THREADS", "mkl": "MKL_NUM_THREADS"}
            threads = os.environ.get(names.get(library.internal_api, "OMP_NUM_THREADS"), "")
            if threads.isdigit():
                most = len(os.sched_getaffinity(0)) if library.internal_api == "openblas" else int(threads)
                library.set_num_threads(min(int(threads), most))  # OpenBLAS takes no more than it has processors
    if "numba" in sys.modules:
        sys.modules["numba"].core.config.reload_config()


WAIT = 10.0  # seconds within which a stub must have told all
MOST_DESCRIPTORS = 250  # descriptors; the kernel passes 253 at once


@dataclass(frozen=True)
class Request:
    """A request for a forked rank."""

    folder: str
    descriptors: dict[int, int]  # the number that it has for the launcher -> the one that it has here
    cores: frozenset[int]
    mask: int  # of the modes of new files
    arguments: list[str]
    variables: dict[bytes, bytes]

    def close(self) -> None:
        """Close its descriptors here."""
        _close(self.descriptors.values())


def read(line: socket.socket) -> Request:
    """Take in a request from a stub. Raises OSError, ValueError for anything else."""
    line.settimeout(WAIT)
    head, received, flags, _ = socket.recv_fds(line, 8, MOST_DESCRIPTORS)
    try:
        if len(head) != 8 or flags & socket.MSG_CTRUNC:
            raise ValueError("The stub of a rank sent no request.")
        return parsed(_received(line, int.from_bytes(head, "big")), received)
    except BaseException:
        _close(received)
        raise


def parsed(body: bytes, received: list[int]) -> Request:
    """A request from its fields, which NUL parts, and the descriptors that came with it. Raises ValueError."""
    fields = body.split(b"\0")
    folder, numbers, cores, mask, count, *words = fields
    launcher_numbers = [int(number) for number in numbers.split(b",")]
    variables = dict(word.partition(b"=")[::2] for word in words[int(count) :])
    return Request(
        os.fsdecode(folder),
        dict(zip(launcher_numbers, received, strict=True)),
        frozenset(int(core) for core in cores.split(b",")),
        int(mask),
        [os.fsdecode(word) for word in words[: int(count)]],
        variables,
    )


def _received(line: socket.socket, length: int) -> bytes:
    body = bytearray()
    while len(body) < length:
        more = line.recv(length - len(body))
        if not more:
            raise ConnectionError("The stub of a rank hung up.")
        body += more
    return bytes(body)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
