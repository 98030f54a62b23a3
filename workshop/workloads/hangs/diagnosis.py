"""Why do ranks wait: a diagnosis of what each of them does.

A rank that waits in MPI waits for other ranks: for the source of a message, for its destination, or for those that are
missing from a collective call. A wait can end only if a rank for which it waits can move on. Ranks that compute or
sleep can, and so can those that wait for such ranks. All others are stuck. What keeps them is a call that doesn't fit
(looked for first, in what each rank called before), a rank that stands still outside of MPI, or a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from workshop.core import words
from workshop.workloads.hangs.recorder import ANY, COLLECTIVE

TRUNCATED = "MPI_ERR_TRUNCATE"  # in an exception: a rank got more than it had room for

Activity = Literal[
    "mpi",
    "polling",
    "computing",
    "sleeping",
    "input",
    "lock",
    "file-lock",
    "pipe",
    "ended",
    "raised",
    "stopped",
    "unknown",
]
MOVING: tuple[Activity, ...] = ("computing", "sleeping", "pipe", "unknown")  # or nobody knows that they can't
BLOCKED = (
    "input",
    "lock",
    "file-lock",
    "stopped",
)  # outside of MPI, and nothing in the program changes that by itself
DOES = {
    "computing": "computes",
    "sleeping": "sleeps",
    "input": "waits for input",
    "lock": "waits for a lock of its own process",
    "file-lock": "waits for a lock on a file",
    "pipe": "waits for another process or for data",
    "ended": "has ended",
    "raised": "has raised an exception",
    "stopped": "was stopped by a signal",
    "unknown": "does something that can't be seen",
}


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
    op: str | None = None
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
        return self.name, self.root, self.op, self.count, self.type

    def world(self, number: int | None) -> int | None:
        """A rank of the communicator as a number in COMM_WORLD; None for any rank and for none."""
        if number is None or not 0 <= number < max(len(self.ranks), 1):
            return None
        return self.ranks[number] if self.ranks else number

    def describe(self) -> str:
        """The call in words, such as "Recv from rank 0, tag 7"."""
        text = self.name
        if self.count is not None:
            text += f" of {self.count} {self.type or 'items'}"
        if self.op is not None:
            text += f", {self.op}"
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
    `detail` adds to what it does: the exception, the file that is locked, why nothing is known. `deliberate` says
    that it ended by sys.exit, `complete` that the history has all of its calls."""

    rank: int
    pid: int | None
    does: Activity
    place: str = ""
    call: Call | None = None
    detail: str = ""
    history: tuple[Call, ...] = ()
    deliberate: bool = False
    complete: bool = False

    @property
    def waits(self) -> bool:
        return self.does in ("mpi", "polling")

    def describe(self) -> str:
        """Say what it does and where, as the end of a sentence."""
        if self.waits and self.call is not None:
            does = f"{'polls' if self.does == 'polling' else 'waits in'} {self.call.describe()}"
        else:
            does = DOES.get(self.does, "waits in MPI") + (f" ({self.detail})" if self.detail else "")
        return does + (f", at {self.place}" if self.place else "")

    @property
    def line(self) -> str:
        """Its line in a report."""
        call = self.call.describe() if self.call is not None and self.waits else self.describe().partition(", at ")[0]
        number = f" (number {self.call.number})" if self.call is not None and self.call.number and self.waits else ""
        return f"rank {self.rank}  {call}{number}  {self.place}".rstrip()


@dataclass(frozen=True)
class Diagnosis:
    """The reason why ranks wait. `hang` says that it can't end by itself; otherwise ranks wait for others that work.
    `ranks` are the cause, `waiting` are the ranks that wait."""

    kind: str
    sentence: str
    fix: str
    hang: bool
    ranks: tuple[int, ...]
    waiting: tuple[int, ...]
    lines: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        return asdict(self)


FIXES = {
    "missing-from-collective": "Have all ranks of the communicator make the call, in the same order of calls.",
    "other-collective": "Have all ranks make the same collective calls in the same order; look for an if around one.",
    "other-root": "Give all ranks the same root.",
    "other-op": "Give all ranks the same operation.",
    "other-size": "Give all ranks the same count and type.",
    "other-communicator": "Make the calls on the same communicator, or in the same order on all ranks.",
    "send-without-receive": "Add the receive, or leave the send out.",
    "receive-without-send": "Add the send, or leave the receive out.",
    "tag-mismatch": "Give the send and the receive the same tag.",
    "wrong-peer": "Correct the source of the receive or the destination of the send.",
    "circular-sends": "Have a rank of the circle receive first, or use Sendrecv or Isend.",
    "circular-receives": "Have a rank of the circle send first, or use Sendrecv or Irecv.",
    "circular-wait": "Have all ranks make the calls in an order in which they match.",
    "ended": "Have the rank make the calls for which the others wait, or leave the loop on all ranks together.",
    "raised": "Mend the exception; start with python -m mpi4py, which ends all ranks when an exception ends a rank.",
    "stopped": "Continue the process: kill -CONT PID.",
    "input": "Read input on rank 0 alone, where mpirun delivers it, and send it to the others.",
    "lock": "Have the thread that holds the lock give it back before it waits, or take locks in the same order.",
    "file-lock": "Give the lock on the file back before the others need it, above all before a collective call.",
    "wait-for-request": "Make the call that completes the request on the other rank.",
    "probe": "Send the message for which the rank probes, or stop probing.",
    "computing": "If that takes too long, look for an endless loop there; give each rank the same share of the work.",
    "sleeping": "If that takes too long, look for what the rank waits for.",
    "pipe": "If that takes too long, look at the process with which the rank talks.",
    "unknown": "Look at the places below.",
}  # fmt: skip


def diagnose(states: Sequence[RankState]) -> Diagnosis | None:
    """Say why the ranks of a program wait in which nothing moves; None where no rank waits for another one."""
    return _Diagnostician(states).diagnosis() if states else None


class _Diagnostician:
    """The states of all ranks, and who waits for whom."""

    def __init__(self, states: Sequence[RankState]) -> None:
        self.states = {state.rank: state for state in sorted(states, key=lambda state: state.rank)}
        self.waiters = [state for state in self.states.values() if state.waits]
        self.targets = {state.rank: self._targets(state) for state in self.waiters}
        self.stuck = self._stuck()

    def diagnosis(self) -> Diagnosis | None:
        if not self.stuck:
            return self._outside(*MOVING)
        truncated = any(state.does == "raised" and TRUNCATED in state.detail for state in self.states.values())
        return (
            (self._mismatch() if truncated else None)
            or self._outside("raised", "stopped")
            or self._mismatch()
            or self._message()
            or self._outside("file-lock", "lock", "input", "ended")
            or self._circle()
            or self._missing()
            or self._pending()
            or self._unknown()
        )

    # Who waits for whom.

    def _members(self, call: Call) -> tuple[int, ...]:
        return call.ranks or tuple(self.states)

    def _awaited(self, state: RankState) -> tuple[Call, ...]:
        """The operations for which a rank waits: its call, or the requests of its wait."""
        calls = state.call.requests or (state.call,) if state.call is not None else ()
        parts: list[Call] = []
        for call in calls:
            if call.dest is not None and call.source is not None:  # Sendrecv: either half may be complete
                parts.append(replace(call, dest=None, tag=None))
                call = replace(call, source=None, recvtag=None)
            parts.append(call)
        return tuple(parts)

    def _at(self, rank: int, call: Call) -> Call | None:
        """The call of a rank that is the same number on the same communicator; None where it has not made it."""
        state = self.states.get(rank)
        if state is None:
            return None
        current = [state.call] if state.call is not None else []
        for other in [*current, *reversed(state.history)]:
            if other.scope == call.scope and other.number == call.number:
                return other
        return None

    def _absent(self, call: Call) -> list[int]:
        """The ranks that have not reached a collective call. A rank that is further has left the call behind, also
        where its history doesn't reach back so far. Those that are in a call without a number have reached it."""
        absent = []
        if call.number is None:
            current = {state.rank: state.call for state in self.waiters if state.call is not None}
            inside = [rank for rank, other in current.items() if (other.name, other.scope) == (call.name, call.scope)]
            return [rank for rank in self._members(call) if rank not in inside]
        for rank in self._members(call):
            state = self.states.get(rank)
            calls: tuple[Call, ...] = () if state is None else (*state.history, *([state.call] if state.call else []))
            numbers = [other.number for other in calls if other.scope == call.scope and other.number]
            if not numbers or max(numbers) < (call.number or 0):
                absent.append(rank)
        return absent

    def _targets(self, state: RankState) -> list[set[int]]:
        """For each operation that a rank awaits, the ranks for which it waits; empty: that can't be told."""
        targets = []
        for call in self._awaited(state):
            if call.collective and call.number is None:
                targets.append(set(self._absent(call)))
            elif call.collective:
                others = {rank for rank in self._members(call) if (at := self._at(rank, call)) and not _fit(call, at)}
                absent = set(self._absent(call))
                root = call.world(call.root)  # a rank that is not the root may wait for the root alone
                targets.append(others | ({root} if root is not None and root in absent else absent))
            elif call.source is not None:
                peers = set(self._members(call)) - {state.rank} if call.source == ANY else {call.world(call.source)}
                targets.append(
                    set() if self._sent_to(state.rank, call) else {rank for rank in peers if rank is not None}
                )
            elif call.dest is not None:
                targets.append({rank for rank in (call.world(call.dest),) if rank is not None})
            elif call.name in ("Finalize", "Init"):
                targets.append({rank for rank, other in self.states.items() if other.does not in ("ended", "raised")})
            elif call.name.startswith("File_"):  # may take long by itself
                targets.append(set())
            else:  # not recorded, so that it may be any rank
                targets.append(self.states.keys() - {state.rank})
        return targets

    def _stuck(self) -> set[int]:
        """The ranks that can't move on, whatever the moving ones do."""
        movable = {state.rank for state in self.states.values() if state.does in MOVING}
        locked = {state.rank for state in self.states.values() if state.does == "file-lock"}
        if movable:
            movable |= locked  # a moving rank may be the one that gives the lock back
        changed = True
        while changed:
            changed = False
            for state in self.waiters:
                if state.rank not in movable and self._may_move(state, movable):
                    movable.add(state.rank)
                    changed = True
        blocked = {state.rank for state in self.states.values() if state.does in BLOCKED}
        return ({state.rank for state in self.waiters} | blocked) - movable

    def _may_move(self, state: RankState, movable: set[int]) -> bool:
        """Whether a wait can end. Some of several requests may be complete already, so that one that can be is
        enough; it is enough too where nobody knows for whom a rank waits."""
        targets = self.targets[state.rank]
        if not targets:
            return True
        lacking = (self._unsent(state, call, ranks) and not ranks & movable for call, ranks in self._pairs(state))
        if state.call is not None and state.call.name.lower() in ("waitall", "testall") and any(lacking):
            return False
        either = len(targets) > 1 or any(call.source == ANY or not call.comm for call in self._awaited(state))
        return any(not ranks or (ranks & movable if either else ranks <= movable) for ranks in targets)

    def _pairs(self, state: RankState) -> Iterator[tuple[Call, set[int]]]:
        """The operations that a rank awaits, each with the ranks for which it waits."""
        return zip(self._awaited(state), self.targets[state.rank], strict=True)

    # Messages that were sent and not received.

    def _unreceived(self, sender: RankState, receiver: RankState) -> Iterator[tuple[Call, int]]:
        """Count the sends of a rank that another one has not received, by kind, as far as both histories reach back."""
        since = receiver.history[0].time if receiver.history and not receiver.complete else 0.0
        pending = receiver.call.requests if receiver.waits and receiver.call is not None else ()
        sends = [call for call in (*sender.history, *self._current(sender)) if call.dest is not None]
        sends = [call for call in sends if call.world(call.dest) == receiver.rank and call.time >= since]
        received: Counter[tuple[object, ...]] = Counter()
        for call in receiver.history:
            if call.source is not None and call not in pending and call.name.lower() not in ("probe", "iprobe"):
                received[call.scope, call.world(call.source), call.recvtag] += 1
        sent: Counter[tuple[object, ...]] = Counter()
        last: dict[tuple[tuple[str, tuple[int, ...]], int, int | None], Call] = {}
        for call in sends:
            sent[key := (call.scope, sender.rank, call.tag)] += 1
            last[key] = call
        for key, call in last.items():
            number = sent[key] - received[key] - received[key[0], None, key[2]]
            if number > 0:
                yield call, number

    def _current(self, state: RankState) -> tuple[Call, ...]:
        return (state.call,) if state.call is not None and not state.call.requests else ()

    def _sent_to(self, rank: int, call: Call) -> bool:
        """Whether a message that fits a receive is on its way."""
        peers = self._members(call) if call.source == ANY else (call.world(call.source),)
        return any(
            _takes(call, peer, sent)
            for peer in peers
            if peer in self.states
            for sent, _ in self._unreceived(self.states[peer], self.states[rank])
        )

    def _unsent(self, state: RankState, call: Call, ranks: set[int]) -> bool:
        """Whether it is sure that nothing was sent for a receive: the histories of all have all calls."""
        receives = call.source is not None and call.dest is None and bool(ranks)
        return receives and all(self.states[rank].complete for rank in {state.rank, *ranks} & self.states.keys())

    # Causes, the surest first.

    def _reached(self, rank: int) -> list[int]:
        """The ranks that wait for a rank, directly or through others."""
        reached = {rank}
        while more := {r for r, sets in self.targets.items() if r not in reached and any(s & reached for s in sets)}:
            reached |= more
        return sorted(reached - {rank})

    def _result(self, kind: str, sentence: str, ranks: Iterable[int], hang: bool = True) -> Diagnosis:
        cause = tuple(sorted(set(ranks)))
        waiting = tuple(state.rank for state in self.waiters if state.rank not in cause)
        return Diagnosis(
            kind, sentence, FIXES[kind], hang, cause, waiting, tuple(state.line for state in self.states.values())
        )

    def _outside(self, *kinds: Activity) -> Diagnosis | None:
        """A rank that does one of this outside of MPI, and for which others wait."""
        for state in sorted(
            self.states.values(), key=lambda state: kinds.index(state.does) if state.does in kinds else -1
        ):
            if state.does not in kinds:
                continue
            waiting, hang = self._reached(state.rank), bool(self.stuck)
            if hang and state.rank not in self.stuck and not self.stuck & set(waiting):
                continue
            if not waiting and not hang:
                continue
            direct = [rank for rank in waiting if any(state.rank in ranks for ranks in self.targets[rank])]
            pairs = (pair for rank in direct for pair in self._pairs(self.states[rank]))
            call, targets = next((pair for pair in pairs if state.rank in pair[1]), (None, set[int]()))
            if (
                state.does == "ended"
                and call is not None
                and not (call.collective or not call.comm or state.deliberate)
            ):
                return self._lone(self.states[direct[0]], call, state)
            sentence, cause = f"Rank {state.rank} {state.describe()}", [state.rank]
            ended = sorted(rank for rank in targets if self.states[rank].does == "ended")
            if state.does == "ended" and len(ended) > 1:
                sentence, cause = f"{words.capital(_ranks(ended))} have ended", ended
            if waiting:
                waits = words.verb(len(waiting), "waits", "wait")
                sentence += f", and {_ranks(waiting)} {waits} for {'it' if len(cause) == 1 else 'them'}"
                sentence += f" in {call.describe()}" if call is not None and len(direct) == len(waiting) else ""
            return self._result(state.does, f"{sentence}.", cause, hang)
        return None

    def _mismatch(self) -> Diagnosis | None:
        """Ranks that are at the same number of a communicator with calls that don't fit."""
        for state in self.waiters:
            for call in self._awaited(state) if state.rank in self.stuck else ():
                if not call.collective or call.number is None:
                    continue
                calls = {rank: at for rank in self._members(call) if (at := self._at(rank, call)) is not None}
                usual = Counter(at.signature for at in calls.values()).most_common(1)[0][0]
                if usual == call.signature and all(_fit(call, at) for at in calls.values()):
                    continue
                base = next(at for at in calls.values() if at.signature == usual)
                others = [rank for rank, at in calls.items() if not _fit(base, at)]
                if not others:
                    continue
                return self._other(base, calls[others[0]], [rank for rank in calls if rank not in others], others)
        return None

    def _other(self, call: Call, other: Call, ranks: list[int], others: list[int]) -> Diagnosis:
        kind = "other-collective"
        if call.name == other.name:
            kind = "other-root" if call.root != other.root else "other-op" if call.op != other.op else "other-size"
        first, second = (
            f"{_ranks(calling)} {words.verb(len(calling), 'calls', 'call')} {example.describe()} at {example.place}"
            for calling, example in ((others, other), (ranks, call))
        )
        sentence = f"{words.capital(first)} as number {call.number} on {call.comm}, and {second}."
        return self._result(kind, sentence, others)

    def _message(self) -> Diagnosis | None:
        """A message that has another tag, communicator or destination than the receive for which a rank waits."""
        for state in self.waiters:
            for call in self._awaited(state) if state.rank in self.stuck else ():
                if call.source is None or call.dest is not None:
                    continue
                peer = call.world(call.source)
                near = [self.states[peer]] if peer in self.states else list(self.states.values())
                for sender in (*near, *self.states.values()):
                    for sent, _ in self._unreceived(sender, state):
                        if any(_takes(pending, sender.rank, sent) for pending in self._awaited(state)):
                            continue  # it belongs to another request of the wait
                        if (diagnosis := self._misfit(state, call, sender, sent)) is not None:
                            return diagnosis
        return None

    def _misfit(self, state: RankState, call: Call, sender: RankState, sent: Call) -> Diagnosis | None:
        peer = call.world(call.source)
        start = f"Rank {state.rank} waits for {call.describe()}, at {state.place}, and rank {sender.rank} "
        ranks = [state.rank, sender.rank]
        if peer is not None and peer != sender.rank:
            circle = sent is sender.call and peer in self._reached(state.rank)  # the sender waits in it, too
            if circle or sent.scope != call.scope or call.recvtag not in (ANY, sent.tag):
                return None
            return self._result("wrong-peer", f"{start}has sent {sent.describe()} at {sent.place}.", ranks)
        if sent.scope != call.scope:
            return self._result(
                "other-communicator",
                f"{start}has sent its message on {sent.comm}, at {sent.place}: {sent.describe()}.",
                ranks,
            )
        if call.recvtag not in (ANY, sent.tag):
            return self._result("tag-mismatch", f"{start}has sent with tag {sent.tag}, at {sent.place}.", ranks)
        return None

    def _lone(self, state: RankState, call: Call, peer: RankState | None) -> Diagnosis:
        """A message that a rank waits to send or to receive, and its peer, or no rank at all, does anything of the
        kind."""
        probes = "probe" in call.name.lower()
        kind = "send-without-receive" if call.dest is not None else "probe" if probes else "receive-without-send"
        kind = "wait-for-request" if state.call is not None and state.call.requests else kind
        if call.source == ANY or peer is None:
            return self._result(kind, f"Rank {state.rank} {state.describe()}, and no rank sends to it.", [state.rank])
        if peer.rank == state.rank:
            sentence = f"Rank {state.rank} {state.describe()}: that is itself, and it has no other call at work."
            return self._result("wrong-peer", sentence, [state.rank])
        lacks = "receives nothing that fits" if call.dest is not None else "sends nothing that fits"
        sentence = f"Rank {state.rank} {state.describe()}, and rank {peer.rank} {lacks}: it {peer.describe()}."
        return self._result(kind, sentence, [state.rank, peer.rank])

    def _circle(self) -> Diagnosis | None:
        """Ranks that wait for each other in messages, or in collective calls on several communicators."""
        for start in self.waiters:
            path = [start.rank]
            while (step := self._step(path[-1])) is not None and step not in path:
                path.append(step)
            if step is None:
                continue
            circle = path[path.index(step) :]
            calls = [self._awaited(self.states[rank])[0] for rank in circle]
            collective = [call.collective for call in calls]
            if all(collective) and len({call.scope for call in calls}) > 1:
                return self._circular("other-communicator", circle)
            if any(collective) or not all(call.comm for call in calls):
                continue
            if len(circle) == 1:
                return self._lone(self.states[step], calls[0], self.states[step])
            sends = [call.dest is not None and call.source is None for call in calls]
            receives = [call.dest is None for call in calls]
            kind = "circular-sends" if all(sends) else "circular-receives" if all(receives) else "circular-wait"
            return self._circular(kind, circle)
        return None

    def _circular(self, kind: str, circle: list[int]) -> Diagnosis:
        parts = [f"rank {rank} {self.states[rank].describe()}" for rank in circle]
        return self._result(kind, f"{words.capital(_ranks(circle))} wait for each other: {'; '.join(parts)}.", circle)

    def _step(self, rank: int) -> int | None:
        """A stuck rank for which a rank waits."""
        for ranks in self.targets.get(rank, []):
            for target in sorted(ranks):
                if target in self.stuck and target in self.targets:
                    return target
        return None

    def _missing(self) -> Diagnosis | None:
        """Ranks that wait elsewhere while others wait for them in a collective call; the one with most ranks."""
        calls = [call for state in self.waiters if state.rank in self.stuck for call in self._awaited(state)]
        counts = Counter((call.scope, call.number) for call in calls if call.collective and self._absent(call))
        if not counts:
            return None
        key = counts.most_common(1)[0][0]
        call = next(call for call in calls if (call.scope, call.number) == key)
        absent = self._absent(call)
        waiting = [state.rank for state in self.waiters if call.scope in [c.scope for c in self._awaited(state)]]
        waiting = [rank for rank in waiting if rank not in absent]
        parts = []
        for rank in absent:
            if (state := self.states.get(rank)) is not None:
                parts.append(f"{'it' if len(absent) == 1 else f'rank {rank}'} {state.describe()}{self._lacks(state)}")
        sentence = (
            f"{words.capital(_ranks(absent))} {words.verb(len(absent))} missing from {call.title}, for which "
            f"{_ranks(waiting)} {words.verb(len(waiting), 'waits', 'wait')} at {call.place}: {'; '.join(parts)}."
        )
        return self._result("missing-from-collective", sentence, absent)

    def _lacks(self, state: RankState) -> str:
        """Say for which message a rank waits in vain, as the end of a sentence."""
        for call in self._awaited(state):
            peer = call.world(call.source if call.dest is None else call.dest)
            if peer in self.states and not call.collective:
                return f", and rank {peer} {'sends' if call.dest is None else 'receives'} nothing that fits"
        return ""

    def _pending(self) -> Diagnosis | None:
        """A rank that waits for a message of a rank that is stuck elsewhere."""
        for state in self.waiters:
            for call in self._awaited(state) if state.rank in self.stuck else ():
                peer = call.world(call.source if call.dest is None else call.dest)
                if peer in self.states or call.source == ANY:
                    return self._lone(state, call, None if peer is None else self.states[peer])
        return None

    def _unknown(self) -> Diagnosis:
        stuck = sorted(self.stuck)
        parts = [f"rank {rank} {self.states[rank].describe()}" for rank in stuck]
        sentence = f"{words.capital(_ranks(stuck))} can't go on, and the cause can't be seen: {'; '.join(parts)}."
        return self._result("unknown", sentence, stuck)


def _fit(call: Call, other: Call) -> bool:
    """Whether two calls of the same number are the same collective call. Counts may differ where each rank has its
    share, and in calls whose first rank alone says how many there are."""
    if (call.name, call.root, call.op) != (other.name, other.root, other.op):
        return False
    name = call.name.lower().lstrip("i")
    if name not in ("bcast", "reduce", "allreduce", "scan", "exscan", "reduce_scatter_block", "allgather", "alltoall"):
        return True
    return None in (call.count, other.count) or (call.count, call.type) == (other.count, other.type)


def _takes(call: Call, sender: int, sent: Call) -> bool:
    """Whether a receive takes what a rank has sent to it."""
    fits = call.source is not None and sent.scope == call.scope and call.recvtag in (ANY, sent.tag)
    return fits and (call.source == ANY or call.world(call.source) == sender)


def _ranks(ranks: Sequence[int]) -> str:
    return words.numbered("rank", ranks)
