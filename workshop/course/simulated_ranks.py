"""A world of threads that tries a learner's function before real ranks call it. A call that would wait for ever on real
ranks ends here at once, with the place of each rank."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import io
import operator
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

RANK_SECONDS = 5.0  # after which a function that still computes is given up
ROOTED = ("reduce", "Reduce", "gather")  # collectives whose result only one rank gets
UFUNCS = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "PROD": np.multiply}


class Deadlock(BaseException):
    """Raised in a rank that would wait for ever; no `except Exception` catches it."""


@dataclass
class Rehearsal:
    """The results of a function on several ranks; lists are in rank order."""

    results: list[Any]
    errors: list[BaseException | None]
    calls: list[list[str]]  # the collectives that each rank called
    sizes: list[int]  # bytes that each rank gave to them: of arrays, or of pickled objects
    stuck: str = ""  # "rank 0 waits in allreduce, rank 1 has returned"; "" where nobody waits for ever

    @property
    def error(self) -> BaseException | None:
        """The error of the first rank that raised one."""
        return next((raised for raised in self.errors if raised is not None), None)


def rehearse(
    function: Callable[..., Any], arguments: Sequence[Sequence[Any]], seconds: float = RANK_SECONDS
) -> Rehearsal:
    """Call `function(comm, *arguments[rank])` on as many ranks as there are arguments. Each rank is a thread of this
    process, and MPI isn't used. The communicator has the collectives without counts (`Comm`)."""
    size = len(arguments)
    meeting = _Meeting(size)
    rehearsal = Rehearsal([None] * size, [None] * size, meeting.calls, meeting.sizes)

    def live(rank: int) -> None:
        comm = Comm(meeting, rank)
        try:
            rehearsal.results[rank] = _bound(function, comm)(comm, *arguments[rank])
            meeting.leave(rank, "has returned")
        except Deadlock:
            meeting.leave(rank, "waits")
        except (Exception, SystemExit) as raised:
            rehearsal.errors[rank] = raised
            meeting.leave(rank, f"has raised {type(raised).__name__}")

    threads = [threading.Thread(target=live, args=(rank,), daemon=True) for rank in range(size)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + seconds
            for thread in threads:
                thread.join(max(deadline - time.monotonic(), 0.0))
    finally:  # also where the stop button, or the time limit of a check, comes in between
        rehearsal.stuck = meeting.stuck
        slow = [rank for rank, thread in enumerate(threads) if thread.is_alive() and rank not in meeting.waiting]
        if slow and not rehearsal.stuck:
            rehearsal.stuck = f"rank {slow[0]} has not come to an end within {seconds:g} s"
            with meeting.changed:  # all who wait raise Deadlock
                meeting.stuck = meeting.stuck or rehearsal.stuck
                meeting.changed.notify_all()
        for rank in slow:  # a loop without end would take a core for as long as this process lives
            ident = ctypes.c_ulong(threads[rank].ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Deadlock))
    return rehearsal


def _bound(function: Callable[..., Any], comm: Comm) -> Callable[..., Any]:
    """The same function with the names `comm`, `rank`, `size` and MPI.COMM_WORLD of the simulated world. Otherwise it
    would wait for real ranks."""
    if not isinstance(function, FunctionType):
        return function
    names = {**function.__globals__, "comm": comm, "rank": comm.rank, "size": comm.size}
    if isinstance(names.get("MPI"), ModuleType):
        names["MPI"] = SimpleNamespace(**vars(names["MPI"]) | {"COMM_WORLD": comm})
    bound = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound


@dataclass
class _Meeting:
    """The meeting point of ranks: a collective ends when all ranks have called the same one."""

    size: int
    stuck: str = ""
    round: int = 0
    waiting: dict[int, tuple[str, Any]] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)
    answers: Any = None  # by the last collective: a list by rank, or the error
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.calls: list[list[str]] = [[] for _ in range(self.size)]
        self.sizes = [0] * self.size

    def meet(self, rank: int, call: str, value: Any, result: Callable[[list[Any]], list[Any]]) -> Any:
        """Wait for all ranks; `result` turns their values, in rank order, into each rank's result."""
        with self.changed:
            self.calls[rank].append(call)
            self.sizes[rank] += value.nbytes if isinstance(value, np.ndarray) else len(pickle.dumps(value))
            self.waiting[rank] = call, value
            round_number = self.round
            self._look(result)
            while self.round == round_number and not self.stuck:
                self.changed.wait()
            if self.round == round_number:
                raise Deadlock
            if isinstance(self.answers, Exception):
                raise self.answers
            return self.answers[rank]

    def leave(self, rank: int, how: str) -> None:
        with self.changed:
            self.gone[rank] = how
            self._look(lambda values: values)

    def _look(self, result: Callable[[list[Any]], list[Any]]) -> None:
        """Go on where all ranks stand at the same collective; say so where they never will."""
        if self.stuck or not self.waiting or len(self.waiting) + len(self.gone) < self.size:
            return
        if self.gone or len({call for call, _ in self.waiting.values()}) > 1:
            places = {rank: f"waits in {call}" for rank, (call, _) in self.waiting.items()} | self.gone
            self.stuck = ", ".join(f"rank {rank} {where}" for rank, where in sorted(places.items()))
        else:
            try:
                self.answers = result([self.waiting[rank][1] for rank in range(self.size)])
            except Exception as raised:
                self.answers = raised
            self.waiting.clear()
            self.round += 1
        self.changed.notify_all()


class Comm:
    """A communicator of mpi4py's as far as the labs need one: its collectives on objects and on whole arrays."""

    def __init__(self, meeting: _Meeting, rank: int) -> None:
        self._meeting = meeting
        self.rank = rank
        self.size = meeting.size

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"comm.{name} is not needed here; a collective such as allreduce or bcast is enough")

    def _meet(self, call: str, value: Any, result: Callable[[list[Any]], list[Any]]) -> Any:
        """Wait for all ranks in a call. `result` makes their results from their values. Labs add calls with it."""
        return self._meeting.meet(self.rank, call, value, result)

    def _to_all(self, call: str, value: Any, result: Callable[[list[Any]], Any]) -> Any:
        """Each rank gets an object of its own."""
        sent = copy.deepcopy(value)
        return self._meet(call, sent, lambda values: [copy.deepcopy(result(values)) for _ in values])

    def _to_root(self, call: str, value: Any, root: int, result: Callable[[list[Any]], Any]) -> Any:
        result_of_rank = self._to_all(f"{call} with root {root}", value, result)
        return result_of_rank if self.rank == root else None

    # Of objects.

    def barrier(self) -> None:
        self._to_all("Barrier", None, lambda values: None)

    Barrier = barrier

    def allreduce(self, sendobj: Any, op: Any = None) -> Any:
        return self._to_all(f"allreduce{_operation(op)}", sendobj, lambda values: _objects(values, op))

    def reduce(self, sendobj: Any, op: Any = None, root: int = 0) -> Any:
        return self._to_root(f"reduce{_operation(op)}", sendobj, root, lambda values: _objects(values, op))

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        return self._to_all(f"bcast from rank {root}", obj, lambda values: values[root])

    def allgather(self, sendobj: Any) -> list[Any]:
        return self._to_all("allgather", sendobj, lambda values: values)

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        return self._to_root("gather", sendobj, root, lambda values: values)

    # Of arrays, in place.

    def Bcast(self, buf: Any, root: int = 0) -> None:
        array = _array(buf)
        _fill(array, self._to_all(f"Bcast from rank {root}", array, lambda values: values[root]))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        into = _array(recvbuf)
        sent = into if _in_place(sendbuf) else _array(sendbuf)
        _fill(into, self._to_all(f"Allreduce{_operation(op)}", sent, lambda values: _arrays(values, op)))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> None:
        sent = _array(recvbuf) if _in_place(sendbuf) else _array(sendbuf)
        result_of_rank = self._to_root(f"Reduce{_operation(op)}", sent, root, lambda values: _arrays(values, op))
        if self.rank == root:
            _fill(_array(recvbuf), result_of_rank)


def _in_place(buffer: Any) -> bool:
    return type(buffer).__name__ == "InPlaceType"  # mpi4py is not imported: that would initialise MPI


def _array(buffer: Any) -> np.ndarray:
    """The array of a buffer as mpi4py takes it: `array` or `[array, type]`."""
    array = buffer[0] if isinstance(buffer, list | tuple) and buffer else buffer
    if not isinstance(array, np.ndarray):
        raise TypeError(f"methods with a capital letter take NumPy arrays, not {type(array).__name__}")
    if not array.flags.c_contiguous and not array.flags.f_contiguous:
        raise ValueError("the array is not contiguous")
    return array


def _fill(into: np.ndarray, values: np.ndarray) -> None:
    if into.dtype != values.dtype or into.size != values.size:
        raise ValueError(
            f"the ranks' arrays don't fit: {values.size} numbers of {values.dtype} into {into.size} of {into.dtype}"
        )
    into[...] = values.reshape(into.shape)


def _name(op: Any) -> str:
    mpi = sys.modules.get("mpi4py.MPI")
    if op is None:
        return "SUM"
    return next((name for name in UFUNCS if mpi is not None and op == getattr(mpi, name)), "another operation")


def _operation(op: Any) -> str:
    """The operation, where it isn't the usual one."""
    return "" if _name(op) == "SUM" else f" of {_name(op)}"


def _objects(values: list[Any], op: Any) -> Any:
    return functools.reduce(operator.add if _name(op) == "SUM" else op, values)


def _arrays(values: list[np.ndarray], op: Any) -> np.ndarray:
    if len({(value.size, value.dtype) for value in values}) > 1:
        raise ValueError("the ranks' arrays differ in size or type")
    ufunc = UFUNCS.get(_name(op))
    if ufunc is None:
        raise ValueError("this operation is not needed here; the sum is enough")
    return ufunc.reduce([value.ravel() for value in values])
