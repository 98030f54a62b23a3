"""Write down the MPI calls of this process in a file that another process reads.

`preload/sitecustomize.py` loads this file by its path in each Python process of a watched program, so it imports
nothing but the standard library. Communicators and requests of mpi4py become instances of subclasses that record;
calls of windows and files, and communicators with ranks of another job, are not recorded.

The file is mapped into memory. It begins with numbers of 8 bytes, which are each written at once: calls, progress
(begins and ends of calls), polls (tests without success). Behind them is how the process ended, then a ring of SLOTS
slots with a call each: a byte that says how far it is, and an entry as a Python literal, which is quicker to write than
JSON. A slot is written before the number of calls is, so whoever reads never sees half of it.

An entry has the fields of `states.Call` that aren't empty, and `file` and `line` for its place. Its `ranks` are a text
such as "0-3,7".
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
SLOT, SLOTS = 1024, 256
START = END + END_SIZE
INSIDE, DONE, RAISED, POLLED = b"(", b")", b"!", b"?"
ANY = -1  # any source or tag, whatever number the MPI has for it
LIBRARY = re.compile(r"/lib(64)?/python3|/site-packages/|/dist-packages/|^<frozen|^src/mpi4py/|/hangs/recorder\.py$")
COLLECTIVE = re.compile(
    "i?(barrier|bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce|allreduce|reduce_scatter|"
    "reduce_scatter_block|scan|exscan|dup|clone|dup_with_info|create|split|split_type|create_cart|create_graph|"
    r"create_dist_graph|create_dist_graph_adjacent)",
    re.IGNORECASE,
)
WAIT = re.compile("(wait|test)(any|all|some)?", re.IGNORECASE)
Entry = dict[str, Any]
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
        self._polls: set[str] = set()  # since the last call that is none

    def begin(self, entry: Entry) -> int:
        """Write a call that begins; returns where it stands."""
        number = next(self._next)  # safe between threads
        place = START + SLOT * (number % SLOTS)
        self.write(place, INSIDE, entry)
        self.numbers[CALLS] = number + 1
        self.numbers[PROGRESS] += 1
        self._polls.clear()
        return place

    def write(self, place: int, mark: bytes, entry: Entry) -> None:
        """Write a call with as many of its values as have room."""
        text = repr(entry).encode()
        if len(text) > SLOT - 2:
            short = {"ranks": "", "requests": (), "file": os.path.basename(entry["file"])[-40:]}
            text = repr(entry | short).encode()
        if len(text) > SLOT - 2:
            text = repr({"name": entry["name"], "time": entry["time"]}).encode()
        self.memory[place : place + len(text) + 2] = mark + text + b"\n"

    def end(self, place: int, mark: bytes = DONE) -> None:
        self.memory[place : place + 1] = mark
        self.numbers[PROGRESS] += 1

    def poll(self, entry: Entry) -> None:
        """Write a test without success. It is no progress, and repetitions are only counted, also those of several
        tests in turn."""
        key = repr(entry | {"time": 0})
        if key not in self._polls:
            polls = {*self._polls, key}
            place = self.begin(entry)
            self.memory[place : place + 1] = POLLED
            self._polls = polls
        self.numbers[POLLS] += 1

    def close(self, **how: Any) -> None:
        """Write how the program ended, unless it was written before. A child that was forked writes nothing."""
        if os.getpid() == self.pid and not self.memory[END]:
            text = repr({name: str(value)[-600:] for name, value in how.items()}).encode()
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
        if name != "mpi4py.MPI":
            return None
        sys.meta_path.remove(self)
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
    """Have it written how the program ends: it raises, or ends normally."""
    hook = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        file, line = "", 0
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if not file or not LIBRARY.search(name):
                file, line = name, trace.tb_lineno
            trace = trace.tb_next
        record.close(how="raised", text=f"{kind.__name__}: {str(error)[:300]}".rstrip(": "), file=file, line=line)
        hook(kind, error, trace)

    sys.excepthook = excepthook
    atexit.register(lambda: record.close(how="ended"))


def record_calls(module: Any, record: CallRecord) -> None:
    """Replace the communicators and requests of mpi4py.MPI by ones that record."""
    recording = _Recording(module, record)
    for name in ("Comm", "Intracomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Request", "Prequest"):
        base = getattr(module, name)
        recording.classes[base] = recording.subclass(base)
        setattr(module, name, recording.classes[base])
    module.Finalize = recording.finalize(module.Finalize)
    for name in ("COMM_WORLD", "COMM_SELF"):
        comm = module.Intracomm(getattr(module, name))
        comm._scope = _Scope(name)
        setattr(module, name, comm)


def _entry(frame: FrameType, **fields: Any) -> Entry:
    """The entry of a call from this frame."""
    fields |= {"file": frame.f_code.co_filename, "line": frame.f_lineno, "time": time.monotonic()}
    return {name: value for name, value in fields.items() if value is not None}


def _run(
    record: CallRecord, entry: Entry, method: Any, args: Any, settings: Any, *,
    scope: _Scope | None = None, polls: bool = False, status: Any = None,
) -> Any:  # fmt: skip
    """Call a method, write down its begin and end, and return its result. Of a method that `polls`, only a result
    without success is written. An exception counts as raised: the others still wait for the call. `status` says
    afterwards from whom a message has come, and with which tag."""
    place = None if polls else record.begin(entry)
    try:
        result = method(*args, **settings)
    except BaseException as error:
        took_part = _took_part(error)
        if not took_part and scope is not None and scope.number == entry.get("number"):
            scope.number -= 1
        record.end(record.begin(entry) if place is None else place, DONE if took_part else RAISED)
        raise
    if place is None:
        if not _succeeded(result):
            record.poll(entry)
        return result
    if status is not None:
        record.write(place, INSIDE, entry | {"source": status.Get_source(), "recvtag": status.Get_tag()})
    record.end(place)
    return result


def _succeeded(result: Any) -> bool:
    """Whether a test or a probe has found what it looked for."""
    if isinstance(result, tuple):
        result = next((part for part in result if isinstance(part, bool)), result[0])
    return result is not None and result is not False


class _Scope:
    """The description of a communicator: its name, its ranks and how many collective calls it has seen."""

    def __init__(self, name: str, ranks: str | None = None) -> None:
        self.name, self.ranks, self.number = name, ranks, 0


class _Kind(type):
    """Class of a class that stands for its base: all instances of the base are its instances. So pickles, which name
    the class, stay as they are."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__dict__.get("_base", ())) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__dict__.get("_base", ())) or super().__subclasscheck__(other)


class _Recording:
    """Makes classes that record, and what they write."""

    def __init__(self, module: Any, record: CallRecord) -> None:
        self.module, self.record = module, record
        self.classes: dict[Any, Any] = {}

    def subclass(self, base: Any) -> Any:
        """A subclass whose methods record; in all else it looks like its base."""
        is_comm, is_request = issubclass(base, self.module.Comm), issubclass(base, self.module.Request)
        methods: dict[str, Any] = {"__module__": base.__module__, "__doc__": base.__doc__, "_base": base}
        for name in dir(base):
            method = getattr(base, name)
            if name.startswith("_") or not callable(method):
                continue
            arguments = _ARGUMENT.findall((method.__doc__ or "").partition("\n")[0])
            if is_request and WAIT.fullmatch(name):
                methods[name] = self._wait(name, method)
            elif is_comm and (COLLECTIVE.fullmatch(name) or {"dest", "source"} & set(arguments)):
                methods[name] = self._call(name, method, arguments, COLLECTIVE.fullmatch(name) is not None)
        if is_comm:
            methods["__reduce__"] = lambda comm: self._reduce(comm)
        return _Kind(base.__name__, (base,), methods)

    def _call(self, name: str, method: Any, arguments: list[str], collective: bool) -> Any:
        """A method of a communicator. A method that makes a request to be started later leaves only the waits for the
        request in the record."""
        record, probes, prepares = self.record, name.lower() in ("iprobe", "improbe"), name.endswith("_init")
        receives, status_at = "source" in arguments, arguments.index("status") if "status" in arguments else None

        @functools.wraps(method)
        def call(comm: Any, *args: Any, **settings: Any) -> Any:
            values = dict(zip(arguments, args, strict=False)) | settings
            entry = self._entry(name, comm, values, arguments if collective else None, receives, sys._getframe(1))
            if prepares:
                return self._recorded(method(comm, *args, **settings), entry, comm)
            status = None
            if status_at is not None and not probes and ANY in (entry.get("source"), entry.get("recvtag")):
                status = values.get("status")
                if status is None and len(args) <= status_at:
                    status = settings["status"] = self.module.Status()
            options: dict[str, Any] = {"scope": comm._scope, "polls": probes, "status": status}
            return self._recorded(_run(record, entry, method, (comm, *args), settings, **options), entry, comm)

        return call

    def finalize(self, method: Any) -> Any:
        """MPI's end, which the program may call before its own."""

        @functools.wraps(method)
        def finalize() -> None:
            _run(self.record, _entry(sys._getframe(1), name="Finalize"), method, (), {})

        return finalize

    def _wait(self, name: str, method: Any) -> Any:
        """A method that waits for a request or tests it. A method that takes several requests belongs to the class."""
        polls, many = name.lower().startswith("test"), name.lower().endswith(("any", "all", "some"))

        @functools.wraps(method)
        def wait(request: Any, *args: Any, **settings: Any) -> Any:
            requests = settings.get("requests", args[0] if args else ()) if many else (request,)
            entries = tuple(each._entry for each in requests if hasattr(each, "_entry"))[:4]
            entry = _entry(sys._getframe(1), name=name, requests=entries or None)
            return _run(self.record, entry, method, args if many else (request, *args), settings, polls=polls)

        return classmethod(wait) if many else wait

    def _entry(
        self, name: str, comm: Any, values: dict[str, Any], arguments: list[str] | None, receives: bool, frame: Any
    ) -> Entry:
        """The entry of a call that begins; `arguments` are the names of those of a collective call."""
        scope = self._scope(comm)
        number = root = dest = tag = source = recvtag = None
        if arguments is not None:
            scope.number += 1
            number = scope.number
            if "root" in arguments:
                root = values.get("root", 0)
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
        return _entry(
            frame, name=name, comm=scope.name, ranks=scope.ranks, number=number, root=root, count=count, type=kind,
            dest=dest, tag=tag, source=source, recvtag=recvtag,
        )  # fmt: skip

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
        """The ranks of a communicator as numbers in COMM_WORLD."""
        group, world = comm.Get_group(), self.module.COMM_WORLD.Get_group()
        try:
            return ranges(self.module.Group.Translate_ranks(group, list(range(group.Get_size())), world))
        finally:
            group.Free()
            world.Free()

    def _recorded(self, result: Any, entry: Entry, parent: Any) -> Any:
        """Return the result of a call; a communicator or a request records from now on."""
        kind = self.classes.get(type(result), type(result) if type(result) in self.classes.values() else None)
        if kind is None or not result:  # MPI's null handles are false
            return result
        recorded = result if type(result) is kind else kind(result)
        if isinstance(result, self.module.Comm):
            name = f"{entry['name']} {entry['number']} of {parent._scope.name}"
            recorded._scope = _Scope(name, self._ranks(recorded))
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
