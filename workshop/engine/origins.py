"""Where the threads of this process began: in which library, and what TensorFlow calls its own.

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
import struct
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

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
