"""Write down the MPI calls of this process in a file that another process reads.

`preload/sitecustomize.py` loads this file by its path in each Python process of a watched program, so it imports
nothing but the standard library. Communicators and requests of mpi4py become instances of subclasses that record.

The file is mapped into memory. It begins with numbers of 8 bytes, which are each written at once: calls, progress
(begins and ends of calls), polls (tests without success). Behind them is how the process ended, then a ring of SLOTS
slots with a call each: a byte that says how far it is, and the values of FIELDS as a Python literal, which is quicker
to write than JSON. A slot is written before the number of calls is, so whoever reads never sees half of it.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import itertools
import mmap
import os
import re
import sys
import time
from collections.abc import Iterable
from types import FrameType, ModuleType, TracebackType
from typing import Any

FOLDER = "WORKSHOP_WATCH_RECORDS"  # the variable with the folder of the records, a file for each process
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
CALLS, PROGRESS, POLLS = range(3)  # places among the numbers
END, END_SIZE = 64, 4032  # bytes: where it stands how the process ended
SLOT, SLOTS = 512, 256
START = END + END_SIZE
INSIDE, DONE, RAISED, POLLED = b"(", b")", b"!", b"?"
ANY = -1  # any source or tag, whatever number the MPI has for it
FOREIGN = "other job"  # instead of the ranks of a communicator that has ranks of a job of its own
SPAWNED = re.compile(r"from multiprocessing\.(spawn|forkserver) import")  # in the command of such a process
# `ranks` are those of the communicator, as numbers in COMM_WORLD; `root`, `dest` and `source` are numbers in the
# communicator. `number` counts the collective calls on it. `requests` are the calls for which this call waits.
FIELDS = (
    "name", "comm", "ranks", "number", "root", "op", "count", "type", "dest", "tag", "source", "recvtag", "requests",
    "file", "line", "time",
)  # fmt: skip
LIBRARY = re.compile(r"/lib(64)?/python3|/site-packages/|/dist-packages/|^<frozen|^src/mpi4py/|/hangs/recorder\.py$")
COLLECTIVE = re.compile(
    "i?(barrier|bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce|allreduce|reduce_scatter|"
    "reduce_scatter_block|scan|exscan|dup|clone|dup_with_info|create|split|split_type|create_group|create_cart|"
    "create_graph|create_dist_graph|create_dist_graph_adjacent|disconnect|spawn|spawn_multiple)"
    r"|(win|file)\.\w+",
    re.IGNORECASE,
)
# Calls of windows and files that all ranks make together; the others are not recorded.
SHARED = re.compile("Fence|Free|Close|Set_size|Set_view|Sync|Preallocate|(Read|Write)(_at)?_all|(Read|Write)_ordered")
MAKERS = ("Create", "Create_dynamic", "Allocate", "Allocate_shared", "Open")  # of windows and files, on a communicator
WAIT = re.compile("(wait|test)(any|all|some)?", re.IGNORECASE)
_ARGUMENT = re.compile(r"(\w+): ")  # in the first line of a method's docstring, which is its signature


class CallRecord:
    """The file of this process, to write."""

    def __init__(self, path: str) -> None:
        with open(path, "w+b") as file:
            file.truncate(START + SLOT * SLOTS)
            self.memory = mmap.mmap(file.fileno(), 0)
        self.numbers = memoryview(self.memory)[:END].cast("Q")
        self.pid = os.getpid()
        self._next = itertools.count()
        self._polls: set[tuple[Any, ...]] = set()  # since the last call that is none

    def begin(self, entry: tuple[Any, ...]) -> int:
        """Write a call that begins; returns where it stands."""
        number = next(self._next)  # safe between threads
        place = START + SLOT * (number % SLOTS)
        text = repr(entry).encode()
        if len(text) > SLOT - 2:
            text = repr((*entry[:2], None, *entry[3:12], (), os.path.basename(entry[13])[-40:], *entry[14:])).encode()
        if len(text) > SLOT - 2:
            text = repr((entry[0], *[None] * 11, (), *[None] * 2, entry[-1])).encode()
        self.memory[place : place + len(text) + 2] = INSIDE + text + b"\n"
        self.numbers[CALLS] = number + 1
        self.numbers[PROGRESS] += 1
        self._polls.clear()
        return place

    def end(self, place: int, mark: bytes = DONE) -> None:
        self.memory[place : place + 1] = mark
        self.numbers[PROGRESS] += 1

    def poll(self, entry: tuple[Any, ...]) -> None:
        """Write a test without success. It is no progress, and repetitions are only counted, also those of several
        tests in turn."""
        if entry[:-1] not in self._polls:
            polls = {*self._polls, entry[:-1]}
            place = self.begin(entry)
            self.memory[place : place + 1] = POLLED
            self._polls = polls
        self.numbers[POLLS] += 1

    def close(self, **how: Any) -> None:
        """Write how the program ended, unless it was written before. A child that was forked writes nothing."""
        if os.getpid() == self.pid and not self.memory[END]:
            text = repr(
                {name: value[-600:] if isinstance(value, str) else value for name, value in how.items()}
            ).encode()
            self.memory[END : END + len(text)] = text


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in short: "0-3,7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def start() -> None:
    """Record this process if it is a rank of a watched program."""
    folder = os.environ.get(FOLDER)
    if not folder or not any(name in os.environ for name in RANK_VARIABLES):
        return
    record = CallRecord(os.path.join(folder, str(os.getpid())))
    _watch_end(record)
    sys.meta_path.insert(0, _Finder(record))


class _Finder:
    """Finds mpi4py.MPI like everybody else, and has it recorded when it was imported."""

    def __init__(self, record: CallRecord) -> None:
        self.record = record

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "mpi4py.MPI" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        if SPAWNED.search(" ".join(sys.orig_argv)):
            self.record.pid = os.getpid()  # a fork server forks
            self.record.close(
                how="spawned", rank=next(os.environ[name] for name in RANK_VARIABLES if name in os.environ)
            )
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_record(module: ModuleType) -> None:
                execute(module)
                record_calls(module, self.record)

            loader.exec_module = execute_and_record
        return spec


def _watch_end(record: CallRecord) -> None:
    """Have it written how the program ends: it raises, calls sys.exit, or ends normally."""
    hook, leave = sys.excepthook, sys.exit

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        file, line = "", 0
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if not file or not LIBRARY.search(name):
                file, line = name, trace.tb_lineno
            trace = trace.tb_next
        record.close(how="raised", text=f"{kind.__name__}: {str(error)[:300]}".rstrip(": "), file=file, line=line)
        hook(kind, error, trace)

    def sys_exit(code: Any = None, /) -> None:
        frame = sys._getframe(1)
        file, line = frame.f_code.co_filename, frame.f_lineno
        exits.append(
            {"text": "sys.exit()" if code is None else f"sys.exit({str(code)[:100]})", "file": file, "line": line}
        )
        leave(code)

    exits: list[dict[str, Any]] = []
    sys.excepthook = excepthook
    sys.exit = sys_exit  # type: ignore[assignment]  # it never returns either
    atexit.register(lambda: record.close(how="ended", **(exits[-1] if exits else {})))


def record_calls(module: Any, record: CallRecord) -> None:
    """Replace the communicators and requests of mpi4py.MPI by ones that record."""
    recording = _Recording(module, record)
    recording.classes = {
        base: recording.subclass(base)
        for name in (
            "Comm",
            "Intracomm",
            "Cartcomm",
            "Graphcomm",
            "Distgraphcomm",
            "Intercomm",
            "Request",
            "Prequest",
        )
        if (base := getattr(module, name, None))
    }
    world = module.Intracomm
    module.Finalize = recording.finalize(module.Finalize)
    shared = [recording.shared(base) for name in ("Win", "File") if (base := getattr(module, name, None))]
    for kind in (*recording.classes.values(), *shared):
        setattr(module, kind.__name__, kind)
    for name in ("COMM_WORLD", "COMM_SELF"):
        comm = recording.classes[world](getattr(module, name))
        comm._scope = _Scope(name)
        setattr(module, name, comm)


class _Scope:
    """The description of a communicator: its name, its ranks and how many collective calls it has seen."""

    def __init__(self, name: str, ranks: str | None = None) -> None:
        self.name, self.ranks, self.number = name, ranks, 0
        self.groups: dict[str, int] = {}  # communicators by the ranks for which Create_group made them


class _Kind(type):
    """Class of a class that stands for its base: all instances of the base are its instances. So pickles, which name
    the class, stay as they are."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, cls.__dict__["_base"])
            if "_base" in cls.__dict__
            else super().__instancecheck__(instance)
        )

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__dict__["_base"]) if "_base" in cls.__dict__ else super().__subclasscheck__(other)


class _Recording:
    """Makes classes that record, and what they write."""

    def __init__(self, module: Any, record: CallRecord) -> None:
        self.module, self.record = module, record
        self.classes: dict[Any, Any] = {}
        self.parent: Any = None
        self.ops = {
            id(getattr(module, name)): name.lower()
            for name in ("SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC")
        }

    def subclass(self, base: Any) -> Any:
        """A subclass whose methods record; in all else it looks like its base."""
        is_request = issubclass(base, self.module.Request)
        methods: dict[str, Any] = {"__module__": base.__module__, "__doc__": base.__doc__, "_base": base}
        for name in dir(base):
            method = getattr(base, name)
            if name.startswith("_") or not callable(method):
                continue
            arguments = _ARGUMENT.findall((method.__doc__ or "").partition("\n")[0])
            if is_request and WAIT.fullmatch(name):
                methods[name] = self._wait(name, method)
            elif not is_request and COLLECTIVE.fullmatch(name):
                methods[name] = self._call(name, method, arguments, collective=True)
            elif not is_request and name.endswith("_init") and {"dest", "source"} & set(arguments):
                methods[name] = self._persistent(name, method, arguments)
            elif not is_request and {"dest", "source"} & set(arguments):
                methods[name] = self._call(name, method, arguments, collective=False)
        if not is_request:
            methods["__reduce__"] = lambda comm: self._reduce(comm)
            methods["Get_parent"] = classmethod(lambda kind: self._parent(base))
        return _Kind(base.__name__, (base,), methods)

    def shared(self, base: Any) -> Any:
        """A subclass of a window's or a file's class whose collective methods record."""
        methods: dict[str, Any] = {"__module__": base.__module__, "__doc__": base.__doc__, "_base": base}
        for name in dir(base):
            method, title = base.__dict__.get(name), f"{base.__name__}.{name}"
            arguments = _ARGUMENT.findall((getattr(base, name).__doc__ or "").partition("\n")[0])
            if name in MAKERS and isinstance(method, classmethod):
                methods[name] = classmethod(self._make(title, method.__func__, arguments))
            elif SHARED.fullmatch(name):
                methods[name] = self._call(title, method, arguments, collective=True)
        return _Kind(base.__name__, (base,), methods)

    def _make(self, name: str, method: Any, arguments: list[str]) -> Any:
        """A method that makes a window or a file, which records its calls on a scope of its own."""

        @functools.wraps(method)
        def make(kind: Any, *args: Any, **settings: Any) -> Any:
            values = dict(zip(arguments, args, strict=False)) | settings
            comm = values.get("comm", self.module.COMM_SELF)
            entry = self._entry(name, comm, values, arguments, False, sys._getframe(1))
            place = self.record.begin(entry)
            try:
                handle = method(kind, *args, **settings)
            finally:
                self.record.end(place)
            handle._scope = _Scope(f"{name} {entry[3]} of {entry[1]}", entry[2])
            return handle

        return make

    def _call(self, name: str, method: Any, arguments: list[str], collective: bool) -> Any:
        record, probes = self.record, name.lower() in ("iprobe", "improbe")
        receives, status_at = "source" in arguments, arguments.index("status") if "status" in arguments else None

        @functools.wraps(method)
        def call(comm: Any, *args: Any, **settings: Any) -> Any:
            values = dict(zip(arguments, args, strict=False))
            values.update(settings)
            entry = self._entry(name, comm, values, arguments if collective else None, receives, sys._getframe(1))
            if probes:
                if not (result := method(comm, *args, **settings)):
                    record.poll(entry)
                return result
            wild = status_at is not None and ANY in (entry[10], entry[11])
            if wild and values.get("status") is None and len(args) <= (status_at or 0):
                settings["status"] = values["status"] = self.module.Status()
            place = record.begin(entry)
            try:
                result = method(comm, *args, **settings)
            except BaseException as error:
                took_part = _took_part(error)
                if not took_part and comm._scope.number == entry[3]:
                    comm._scope.number -= 1  # the others still wait for it
                record.end(place, DONE if took_part else RAISED)
                raise
            record.end(place)
            if wild:  # now it is known from whom
                status = values["status"]
                entry = (*entry[:10], status.Get_source(), status.Get_tag(), *entry[12:])
                text = repr(entry).encode()
                if len(text) <= SLOT - 2:
                    record.memory[place : place + len(text) + 2] = DONE + text + b"\n"
            return self._recorded(result, entry, comm)

        return call

    def _persistent(self, name: str, method: Any, arguments: list[str]) -> Any:
        """A method that makes a request to be started later; waits for it are recorded."""

        @functools.wraps(method)
        def prepare(comm: Any, *args: Any, **settings: Any) -> Any:
            values = dict(zip(arguments, args, strict=False)) | settings
            entry = self._entry(name, comm, values, None, "source" in arguments, sys._getframe(1))
            return self._recorded(method(comm, *args, **settings), entry, comm)

        return prepare

    def finalize(self, method: Any) -> Any:
        """MPI's end, which the program may call before its own."""

        @functools.wraps(method)
        def finalize() -> None:
            frame = sys._getframe(1)
            words = ("Finalize", *[None] * 11, (), frame.f_code.co_filename, frame.f_lineno, time.monotonic())
            place = self.record.begin(words)
            method()
            self.record.end(place)

        return finalize

    def _wait(self, name: str, method: Any) -> Any:
        record, tests, many = self.record, name.lower().startswith("test"), WAIT.fullmatch(name)
        is_class_method = many is not None and bool(many[2])

        @functools.wraps(method)
        def wait(request: Any, *args: Any, **settings: Any) -> Any:
            frame = sys._getframe(1)
            requests = settings.get("requests", args[0] if args else ()) if is_class_method else (request,)
            entries = tuple(each._entry for each in requests if hasattr(each, "_entry"))[:4]
            words = (name, *[None] * 11, entries, frame.f_code.co_filename, frame.f_lineno, time.monotonic())
            if tests:
                result = method(*args, **settings) if is_class_method else method(request, *args, **settings)
                flag = result[0] if isinstance(result, tuple) else result
                if flag is None or flag is False:
                    record.poll(words)
                return result
            place = record.begin(words)
            try:
                return method(*args, **settings) if is_class_method else method(request, *args, **settings)
            finally:
                record.end(place)

        return classmethod(wait) if is_class_method else wait

    def _entry(
        self,
        name: str,
        comm: Any,
        values: dict[str, Any],
        arguments: list[str] | None,
        receives: bool,
        frame: FrameType,
    ) -> tuple[Any, ...]:
        """The values of FIELDS for a call that begins; `arguments` are the names of those of a collective call."""
        scope = self._scope(comm)
        ranks = scope.ranks
        number = root = op = count = kind = dest = tag = source = recvtag = None
        if arguments is not None:
            if name != "Create_group":  # which not all ranks of the communicator call
                scope.number += 1
                number = scope.number
            elif isinstance(group := values.get("group"), self.module.Group):
                ranks = self._world(group)
            if "root" in arguments:
                root = values.get("root", 0)
            if "reduce" in name.lower() or "scan" in name.lower():
                op = self.ops.get(id(values["op"]), "an operation of the program") if "op" in values else "sum"
            part = values.get("recvbuf" if "catter" in name and "educe" not in name else "sendbuf")
            if part is None or part is self.module.IN_PLACE:
                part = values.get("recvbuf")
            count, kind = _amount(values.get("buf", part))
        else:
            count, kind = _amount(values.get("sendbuf", values.get("buf")))
            if "dest" in values:
                dest, tag = values["dest"], values.get("sendtag", values.get("tag", 0))
            if receives:
                source = self._plain(values.get("source", ANY))
                recvtag = self._plain(values.get("recvtag", ANY if "dest" in values else values.get("tag", ANY)))
        return (
            name, scope.name, ranks, number, root, op, count, kind, dest, tag, source, recvtag, (),
            frame.f_code.co_filename, frame.f_lineno, time.monotonic(),
        )  # fmt: skip

    def _parent(self, base: Any) -> Any:
        """The intercommunicator with the ranks that have spawned this one, if there are any."""
        parent = base.Get_parent()
        if not parent:
            return parent
        if not self.parent:
            self.parent = self.classes[type(parent)](parent)
            self.parent._scope = _Scope("the parent's intercommunicator", FOREIGN)
        return self.parent

    def _plain(self, number: Any) -> Any:
        return ANY if number in (self.module.ANY_SOURCE, self.module.ANY_TAG) else number

    def _reduce(self, comm: Any) -> Any:
        """Reduce a communicator for pickle to its name, where that is the same in every process."""
        names = (name for name in ("COMM_WORLD", "COMM_SELF") if getattr(self.module, name) is comm)
        return next(names, None) or super(type(comm), comm).__reduce__()

    def _scope(self, comm: Any) -> _Scope:
        scope: _Scope | None = getattr(comm, "_scope", None)
        if scope is None:  # the program made it itself from a handle or a pickle
            scopes = (each._scope for each in (self.module.COMM_WORLD, self.module.COMM_SELF) if each == comm)
            scope = comm._scope = next(scopes, None) or _Scope("a communicator of the program")
        if scope.ranks is None:
            scope.ranks = self._ranks(comm)
        return scope

    def _ranks(self, comm: Any) -> str:
        """The ranks of a communicator as numbers in COMM_WORLD; for an intercommunicator those of its other side."""
        group = comm.Get_remote_group() if comm.Is_inter() else comm.Get_group()
        try:
            return self._world(group)
        finally:
            group.Free()

    def _world(self, group: Any) -> str:
        """The ranks of a group as numbers in COMM_WORLD."""
        world = self.module.COMM_WORLD.Get_group()
        try:
            ranks = self.module.Group.Translate_ranks(group, list(range(group.Get_size())), world)
            return FOREIGN if self.module.UNDEFINED in ranks else ranges(ranks)
        finally:
            world.Free()

    def _recorded(self, result: Any, entry: tuple[Any, ...], parent: Any) -> Any:
        """Return the result of a call; a communicator or a request records from now on."""
        kind = self.classes.get(type(result), type(result) if type(result) in self.classes.values() else None)
        if kind is None or not result:  # MPI's null handles are false
            return result
        recorded = result if type(result) is kind else kind(result)
        if isinstance(result, self.module.Comm):
            ranks, scope = self._ranks(recorded), parent._scope
            name = f"{entry[0]} {entry[3]} of {scope.name}"
            if entry[3] is None:
                scope.groups[ranks] = scope.groups.get(ranks, 0) + 1
                name = f"{entry[0]} {scope.groups[ranks]} of {scope.name}"
            recorded._scope = _Scope(name, ranks)
        else:
            recorded._entry = entry
        return recorded


def _took_part(error: BaseException) -> bool:
    """Whether a call that raises has done its part: what has come has no room or can't be unpickled."""
    trace = error.__traceback__
    while trace is not None:
        if "pickle_load" in trace.tb_frame.f_code.co_name:
            return True
        trace = trace.tb_next
    return "MPI_ERR_TRUNCATE" in str(error)


def _amount(buffer: Any) -> tuple[int | None, str | None]:
    """How many numbers of which type a buffer has, as far as that is plain to see."""
    if isinstance(buffer, (list, tuple)) and buffer:
        count, kind = _amount(buffer[0])
        if len(buffer) > 1 and isinstance(buffer[1], int):
            count = buffer[1]
        return count, getattr(buffer[-1], "name", kind) or kind
    if (dtype := getattr(buffer, "dtype", None)) is not None:
        return getattr(buffer, "size", None), str(dtype)
    if isinstance(buffer, (bytes, bytearray, memoryview)):
        return len(buffer), "byte"
    return None, None
