"""One cell on all ranks, until it has ended: its output, the stop button, the time limit, and ranks that wait in a
collective for somebody who won't come. `Ranks` is the ipyparallel client by which a notebook calls them."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

import ipyparallel as ipp

from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.core.words import count, ranges
from workshop.engine import cells
from workshop.notebook.output import PATIENT, Output
from workshop.store.records import SessionRecord

WAITED = 5.0  # seconds for which ranks go on without one that has raised, before they are stopped
DEAF = 2.0  # seconds within which a rank that is interrupted has to end; one in a collective is deaf
LOOK = 0.01  # seconds between looks at the ranks
CHECK = 1.0  # seconds between looks at their session
LAST_WORDS = 1.0  # seconds within which output follows a rank's end
MOST_KINDS = 6  # different errors that are told

Why = Literal["", "stopped", "late", "left", "died"]


class Stop:
    """While it is entered, the stop button (SIGINT) only sets `pressed`: nothing of ours is broken off in its middle.
    In a thread other than the main one the button means somebody else."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None
        self._mine = False

    def __enter__(self) -> Stop:
        self._mine = threading.current_thread() is threading.main_thread()
        if self._mine:
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, _number: int, _frame: FrameType | None) -> None:
        self.pressed = True

    def __call__(self) -> bool:
        return self.pressed


@dataclass(frozen=True)
class RankResult:
    """The result of a cell on a rank: its error in words, or the return `value` of a called function."""

    rank: int
    error: str | None = None
    value: Any = None


@dataclass(frozen=True)
class CallResult:
    """The `results` of ranks that have ended, in rank order. `why` says why the cell was ended ("" for a normal end),
    `own_ends` are the ranks that had ended before, `deaf` the ranks that could not be interrupted, and `where` is the
    place of each rank."""

    results: list[RankResult]
    why: Why = ""
    own_ends: frozenset[int] = frozenset()
    deaf: frozenset[int] = frozenset()
    where: Mapping[int, Mapping[str, Any] | None] = field(default_factory=dict)


def place(where: Mapping[str, Any], quote: str = "") -> str:
    """A line of a cell in words: line 3: code."""
    inside = f"in {where['function']}, " if where.get("earlier") and where["function"] else ""
    whose = " of an earlier cell" if where.get("earlier") else ""
    return f"{inside}line {where['line']}{whose}: {quote}{where['code']}{quote}"


def error_words(error: Mapping[str, Any]) -> str:
    """The error that ended a cell on a rank, with its line, where a line of a cell is to blame."""
    words = f"{error['type']}: {error['message']}" if error["message"] else str(error["type"])
    if error["type"] == cells.TOO_MUCH:
        words = f"the cell {error['message']} and was stopped"
    return f"{words} ({place(error['where'])})" if error["where"] else words


def these(ranks: Sequence[int], capital: bool = False) -> str:
    """Ranks in words: rank 1, ranks 0-3."""
    words = f"rank{'' if len(ranks) == 1 else 's'} {ranges(ranks).replace(',', ', ')}"
    return words.capitalize() if capital else words


def errors(results: Sequence[RankResult]) -> list[str]:
    """A line for each different error, with the ranks that had it."""
    groups: dict[str, list[int]] = {}
    for result in results:
        if result.error is not None:
            groups.setdefault(result.error, []).append(result.rank)
    lines = [f"{these(ranks)}: {error}" for error, ranks in groups.items()]
    more = len(lines) - MOST_KINDS
    return lines if more <= 0 else [*lines[:MOST_KINDS], f"and {count(more, 'other error')}"]


class CallMonitor:
    """Watch a call on all ranks; `results` are ipyparallel's, in rank order."""

    def __init__(
        self, ranks: Ranks, results: Sequence[Any], output: Output, seconds: float, check: Callable[[], Any]
    ) -> None:
        self._ranks = ranks
        self._results = results
        self._output = output
        self._seconds = seconds
        self._check = check
        self._ended: dict[int, RankResult] = {}
        self._taken = [0] * len(results)
        self._began = self._last = time.monotonic()
        self._dead = False

    def until_ended(self, stop: Callable[[], bool]) -> CallResult:
        """Returns when all ranks have ended, or won't. Raises WorkshopError where their session is gone."""
        why: Why = ""
        stop_sent_at, checked = 0.0, self._began
        ended_before: frozenset[int] = frozenset()
        where: dict[int, Mapping[str, Any] | None] = {}
        while True:
            self._look()
            now = time.monotonic()
            if self._dead:  # the launcher ends the others
                why = "died"
            if len(self._ended) == len(self._results):
                break
            if self._dead and now - self._last > DEAF:
                break
            if not why and (why := self._reason(now, stop())):
                stop_sent_at, ended_before = now, frozenset(self._ended)
                where = {rank: self._output.ranks[rank].where for rank in self._running}
                self._ranks.interrupt([self._ranks.ids[rank] for rank in self._running])
            elif why in ("stopped", "late", "left") and now - stop_sent_at > DEAF:
                break
            if now - checked > CHECK:
                checked = now
                self._check()
                self._dead = self._dead or not self._ranks.alive
            self._say(now)
            time.sleep(LOOK if now - self._began > 0.5 else LOOK / 4)
        deaf = frozenset(self._running)
        if not deaf and not self._dead:
            self._last_words()
        return CallResult([self._ended[rank] for rank in sorted(self._ended)], why, ended_before, deaf, where)

    @property
    def _running(self) -> list[int]:
        return [rank for rank in range(len(self._results)) if rank not in self._ended]

    def _look(self) -> None:
        for rank in self._running:
            if self._results[rank].ready():
                self._ended[rank] = self._result(rank)
                self._last = time.monotonic()
        self._take()
        self._output.draw()

    def _take(self) -> None:
        for rank, result in enumerate(self._results):
            outputs = result.metadata["outputs"]  # its own: the client drops what it knows of a call that has ended
            while self._taken[rank] < len(outputs):
                content = outputs[self._taken[rank]]
                outputs[self._taken[rank]] = None
                self._taken[rank] += 1
                self._output.ranks[rank].take(content)

    def _reason(self, now: float, stopped: bool) -> Why:
        if stopped:
            return "stopped"
        if now - self._began > self._seconds:
            return "late"
        failed = any(result.error is not None for result in self._ended.values())
        return "left" if failed and now - self._last > WAITED else ""

    def _say(self, now: float) -> None:
        seconds = int(now - self._began)
        if seconds < PATIENT:
            return
        done = f"; {these(sorted(self._ended))} ended" if self._ended else ""
        self._output.status = f"{these(self._running, capital=True)} still running, {seconds} s{done}"

    def _result(self, rank: int) -> RankResult:
        answer: Any
        try:
            answer = self._results[rank].get(0)
        except Exception as error:  # of a rank's end, or of a value that can't be brought here
            name, message = type(error).__name__, str(error)
            if isinstance(error, ipp.error.RemoteError):
                name, message = error.ename, error.evalue
            elif isinstance(error, ipp.error.EngineError):
                name, message = "EngineError", "its process has ended"
            self._dead = self._dead or name == "EngineError"
            answer = {"type": name, "message": message, "where": None}
        value = None
        if isinstance(answer, Mapping) and "value" in answer:
            answer, value = answer["error"], answer["value"]
        return RankResult(rank, error_words(answer) if answer else None, value)

    def _last_words(self) -> None:
        """Take the output that is still on its way, also output that arrived late."""
        until = time.monotonic() + LAST_WORDS
        for result in self._results:
            result.wait_for_output(max(until - time.monotonic(), 0))
        self._take()
        for rank, result in enumerate(self._results):
            for name in ("stdout", "stderr"):
                if late := result.metadata[name]:
                    self._output.ranks[rank].tail.write(late)


def describe_end(watched: CallResult, size: int, seconds: float) -> list[str]:
    """The lines on a cell that failed; empty where all is well, or where a rank died."""
    if watched.why == "died":
        return []
    if not watched.why:
        return errors(watched.results)
    own_results = [result for result in watched.results if result.rank in watched.own_ends]
    lines = errors(own_results)
    groups: dict[str, list[int]] = {}
    for rank in range(size):
        if rank not in watched.own_ends:
            at = watched.where.get(rank)
            groups.setdefault(f"in {place(at, '`')}" if at else "", []).append(rank)
    if watched.why == "left":
        how = "waited for others that no longer come" if watched.deaf else f"had not ended {WAITED:g} s later"
        return lines + [f"{these(ranks, capital=True)} {how}{', ' if at else ''}{at}." for at, ranks in groups.items()]
    finished = [result.rank for result in own_results if result.error is None]
    were = [f"{these(finished)} had finished"] if finished else []
    for at, ranks in groups.items():
        were.append(f"{these(ranks)} {'was' if len(ranks) == 1 else 'were'} {at or 'still running'}")
    what = "You stopped the cell" if watched.why == "stopped" else f"The cell had not ended after {seconds:g} s"
    return [*lines, f"{what}: {'; '.join(were)}."]


CONNECT = 15.0  # seconds within which ranks must have answered
ARRIVAL = 0.3  # seconds within which a rank's line is here, once there is a way
Who = tuple[tuple[int, str, int], ...]  # rank, host and process of each


class Ranks:
    """A line to the ranks that are up: an ipyparallel client, and their engines' ids in rank order."""

    def __init__(self, client: ipp.Client, ids: list[int]) -> None:
        self.client, self.ids = client, ids
        self._closed = False

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def view(self) -> ipp.DirectView:
        """A view of all ranks, in rank order."""
        return self.client.direct_view(self.ids)

    @property
    def alive(self) -> bool:
        """Whether the controller still counts them all; it takes half a second to notice the death of one."""
        return not self._closed and set(self.ids) <= set(self.client.ids)

    def interrupt(self, ids: Collection[int]) -> None:
        """Send SIGINT to these engines, never to the launcher, which would end all of them."""
        with suppress(ipp.error.IPythonError, OSError, ValueError, KeyError):  # some may end just now
            if alive := [id for id in ids if id in self.client.ids]:
                self.client.send_signal(signal.SIGINT, targets=alive, block=False)

    def close(self) -> None:
        self._closed = True
        with suppress(Exception):  # its controller may be gone
            self.client.close(linger=0)


def _until_heard(view: ipp.DirectView) -> None:
    """Wait until the ranks' output arrives here. It travels on a line of its own, which is ready some moments after the
    ranks answer; earlier output would be lost. Raises TimeoutError."""
    deadline = time.monotonic() + CONNECT
    while time.monotonic() < deadline:
        outputs = view.apply_async(print, "heard")
        outputs.get(CONNECT)
        soon = time.monotonic() + ARRIVAL
        while time.monotonic() < soon:
            if all(outputs.stdout):
                return
            time.sleep(0.005)
    raise TimeoutError


def who(session: SessionRecord) -> Who:
    """The hosts and processes of a session's ranks, in rank order; empty where no ranks are up."""
    reports = (session.rank_map or {}).get("ranks", ())
    return tuple(sorted((report["rank"], report["host"], report["pid"]) for report in reports))


def connected(session: SessionRecord) -> Ranks:
    """Connect to the ranks of a session. Raises WorkshopError."""
    profile = config.session_folder(session.id) / "profile"
    client: ipp.Client | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about profiles that a notebook's user doesn't have
            file = profile / "security" / "ipcontroller-client.json"
            client = ipp.Client(str(file), profile_dir=str(profile), timeout=CONNECT)
        view = client[:]
        pids, hosts = view.apply_async(os.getpid), view.apply_async(socket.gethostname)
        engines = dict(zip(zip(hosts.get(CONNECT), pids.get(CONNECT), strict=True), view.targets, strict=True))
        _until_heard(view)
        return Ranks(client, [engines[host, pid] for _, host, pid in who(session)])
    except (OSError, TimeoutError, KeyError, ipp.error.IPythonError) as error:
        if client is not None:
            with suppress(Exception):
                client.close(linger=0)
        raise WorkshopError(
            f"The ranks of this notebook don't answer ({type(error).__name__}); run the cell again."
        ) from error
