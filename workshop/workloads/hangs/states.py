"""The state of a rank in a watched program: the MPI call in which it is, or what else it waits for; and the program
with its ranks at the lines where they are, for pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workshop.core import words
from workshop.workloads.hangs.recorder import ANY, COLLECTIVE

Activity = Literal[
    "mpi", "polling", "computing", "sleeping", "input", "lock", "pipe", "ended", "raised", "stopped", "unknown",
]  # fmt: skip
DOES: dict[Activity, str] = {
    "mpi": "waits in",
    "polling": "polls",
    "computing": "computes",
    "sleeping": "sleeps",
    "input": "waits for input",
    "lock": "waits for a lock of its own process",
    "pipe": "waits for another process or for data",
    "ended": "has ended",
    "raised": "has raised an exception",
    "stopped": "was stopped by a signal",
    "unknown": "does something that can't be seen",
}
# Collective calls in which all ranks have the same count.
SAME_COUNT = ("bcast", "reduce", "allreduce", "scan", "exscan", "reduce_scatter_block", "allgather", "alltoall")
PROGRAM = "program.py"  # artifact: the program as it was run
LINE = re.compile(r"rank (\d+)  (.*?)(?:  ((?:(?!  ).)+\.py:\d+))?")  # in a report


@dataclass(frozen=True)
class Call:
    """An MPI call of a rank. `ranks` are those of its communicator, as numbers in COMM_WORLD; `root`, `dest` and
    `source` are numbers in the communicator, ANY among them. `number` counts the collective calls on the communicator.
    `requests` are the calls for which a wait waits. `time` is that of its begin, in seconds of the machine's clock."""

    name: str
    comm: str = ""
    ranks: tuple[int, ...] = ()
    number: int | None = None
    root: int | None = None
    count: int | None = None
    type: str | None = None
    dest: int | None = None
    tag: int | None = None
    source: int | None = None
    recvtag: int | None = None
    requests: tuple[Call, ...] = ()
    place: str = ""
    time: float = 0.0

    @property
    def scope(self) -> tuple[str, tuple[int, ...]]:
        """The communicator; two of different ranks may have the same name."""
        return self.comm, self.ranks

    @property
    def collective(self) -> bool:
        return COLLECTIVE.fullmatch(self.name) is not None and self.comm != ""

    @property
    def signature(self) -> tuple[object, ...]:
        return self.name, self.root, self.count, self.type

    def world(self, number: int | None) -> int | None:
        """A rank of the communicator as a number in COMM_WORLD. None: any rank, or no rank."""
        if number is None or not 0 <= number < max(len(self.ranks), 1):
            return None
        return self.ranks[number] if self.ranks else number

    def describe(self) -> str:
        """The call in words, such as "Recv from rank 0, tag 7"."""
        text = self.name
        if self.count is not None:
            text += f" of {self.count} {self.type or 'items'}"
        if self.root is not None:
            text += f", root {self.root}"
        if self.dest is not None:
            text += f" to rank {self.dest}, tag {self.tag}"
        if self.source is not None:
            text += " from any rank" if self.source == ANY else f" from rank {self.source}"
            text += "" if self.recvtag in (ANY, None) else f", tag {self.recvtag}"
        if self.requests:
            text += f" for {words.listed([request.describe() for request in self.requests])}"
        return text if self.comm in ("", "COMM_WORLD") else f"{text} on {self.comm}"

    @property
    def title(self) -> str:
        """Its name with its place among the collective calls."""
        return f"{self.name} (number {self.number} on {self.comm})" if self.number else f"{self.name} on {self.comm}"


@dataclass(frozen=True)
class RankState:
    """The state of a rank. `call` is the MPI call in which it waits, `history` those that it has made, oldest first.
    `detail` adds to what it does: the exception, why nothing is known. `complete` says
    that the history has all of its calls."""

    rank: int
    pid: int | None
    does: Activity
    place: str = ""
    call: Call | None = None
    detail: str = ""
    history: tuple[Call, ...] = ()
    complete: bool = False

    @property
    def waits(self) -> bool:
        return self.does in ("mpi", "polling")

    @property
    def calls(self) -> tuple[Call, ...]:
        """All its calls that are known, oldest first."""
        return (*self.history, *([self.call] if self.call is not None else []))

    def describe(self) -> str:
        """Say what it does and where, as the end of a sentence."""
        if self.waits and self.call is not None:
            calls = (self.does == "polling" and self.call.requests) or (self.call,)
            does = f"{DOES[self.does]} {words.listed([call.describe() for call in calls])}"
        else:
            does = DOES[self.does] + (f" ({self.detail})" if self.detail else "")
        return does + (f", at {self.place}" if self.place else "")

    @property
    def line(self) -> str:
        """Its line in a report."""
        call = self.describe().removesuffix(f", at {self.place}").removeprefix("waits in ")
        number = f" (number {self.call.number})" if self.call is not None and self.call.number and self.waits else ""
        return f"rank {self.rank}  {call}{number}  {self.place}".rstrip()


def match_collectives(call: Call, other: Call) -> bool:
    """Whether two calls of the same number are the same collective call. Counts may differ where each rank has its
    share, and in calls whose first rank alone says how many there are."""
    if (call.name, call.root) != (other.name, other.root):
        return False
    compared = call.name.lower().lstrip("i") in SAME_COUNT and None not in (call.count, other.count)
    return not compared or (call.count, call.type) == (other.count, other.type)


def match_message(receive: Call, sender: int, sent: Call) -> bool:
    """Whether a receive takes what a rank has sent to it."""
    fits = receive.source is not None and sent.scope == receive.scope and receive.recvtag in (ANY, sent.tag)
    return fits and (receive.source == ANY or receive.world(receive.source) == sender)


def rows(lines: Sequence[str]) -> list[list[str]]:
    """Each rank's line of a diagnosis as its number, what it does, and where."""
    return [list(cells.groups("")) for line in lines if (cells := LINE.fullmatch(line))]


def marked(program: str, states: Sequence[Sequence[str]]) -> str:
    """The program with the numbers of its lines, and the ranks behind the lines where they are."""
    ranks: dict[int, list[int]] = {}
    for rank, _, place in states:
        if place:
            ranks.setdefault(int(place.rpartition(":")[2]), []).append(int(rank))
    return "\n".join(
        f"{'>' if number in ranks else ' '}{number:3}  {text}"
        + (f"    <-- {words.numbered('rank', ranks[number])}" if number in ranks else "")
        for number, text in enumerate(program.splitlines(), 1)
    )
