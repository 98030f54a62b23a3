"""Why do ranks wait: the cause of waits that can't end by themselves (`waits`).

The cause is a call that doesn't fit, a rank that stands still outside of MPI, or a circle of waits. Calls are compared
first, also the calls that each rank has made before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from workshop.core import words
from workshop.workloads.hangs.recorder import ANY
from workshop.workloads.hangs.states import Activity, Call, RankState, match_collectives, match_message
from workshop.workloads.hangs.waits import MOVING, WaitGraph

TRUNCATED = "MPI_ERR_TRUNCATE"  # in an exception: a rank got more than it had room for


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

    def __str__(self) -> str:
        return "\n".join([self.sentence, f"Fix: {self.fix}", *self.lines])


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


class _Diagnostician(WaitGraph):
    """The causes of a graph's waits."""

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

    # Causes, the surest first.

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
            waiting, hang = self.dependents(state.rank), bool(self.stuck)
            if hang and state.rank not in self.stuck and not self.stuck & set(waiting):
                continue
            if not waiting and not hang:
                continue
            direct = [rank for rank in waiting if any(state.rank in ranks for ranks in self.targets[rank])]
            pairs = (pair for rank in direct for pair in self.pairs(self.states[rank]))
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
        for _, call in self.stuck_calls():
            if not call.collective or call.number is None:
                continue
            calls = self.calls_at(call)
            usual = Counter(other.signature for other in calls.values()).most_common(1)[0][0]
            base = next(other for other in calls.values() if other.signature == usual)
            others = [rank for rank, other in calls.items() if not match_collectives(base, other)]
            if others:
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
        for state, call in self.stuck_calls():
            if call.source is None or call.dest is not None:
                continue
            peer = call.world(call.source)
            near = [self.states[peer]] if peer in self.states else []
            for sender in (*near, *self.states.values()):
                for sent in self.unreceived(sender, state):
                    if any(match_message(pending, sender.rank, sent) for pending in self.awaited(state)):
                        continue  # it belongs to another request of the wait
                    if (diagnosis := self._misfit(state, call, sender, sent)) is not None:
                        return diagnosis
        return None

    def _misfit(self, state: RankState, call: Call, sender: RankState, sent: Call) -> Diagnosis | None:
        peer = call.world(call.source)
        start = f"Rank {state.rank} waits for {call.describe()}, at {state.place}, and rank {sender.rank} "
        ranks = [state.rank, sender.rank]
        if peer is not None and peer != sender.rank:
            circle = sent is sender.call and peer in self.dependents(state.rank)  # the sender waits in it, too
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
            while (step := self.next_stuck(path[-1])) is not None and step not in path:
                path.append(step)
            if step is None:
                continue
            circle = path[path.index(step) :]
            calls = [self.awaited(self.states[rank])[0] for rank in circle]
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

    def _missing(self) -> Diagnosis | None:
        """Ranks that wait elsewhere while others wait for them in a collective call; the one with most ranks."""
        calls = [call for state in self.waiters if state.rank in self.stuck for call in self.awaited(state)]
        counts = Counter((call.scope, call.number) for call in calls if call.collective and self.absent(call))
        if not counts:
            return None
        key = counts.most_common(1)[0][0]
        call = next(call for call in calls if (call.scope, call.number) == key)
        absent = self.absent(call)
        scopes = {state.rank: [each.scope for each in self.awaited(state)] for state in self.waiters}
        waiting = [rank for rank in scopes if call.scope in scopes[rank] and rank not in absent]
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
        for call in self.awaited(state):
            peer = call.world(call.source if call.dest is None else call.dest)
            if peer in self.states and not call.collective:
                return f", and rank {peer} {'sends' if call.dest is None else 'receives'} nothing that fits"
        return ""

    def _pending(self) -> Diagnosis | None:
        """A rank that waits for a message of a rank that is stuck elsewhere."""
        for state, call in self.stuck_calls():
            peer = call.world(call.source if call.dest is None else call.dest)
            if peer in self.states or call.source == ANY:
                return self._lone(state, call, None if peer is None else self.states[peer])
        return None

    def _unknown(self) -> Diagnosis:
        stuck = sorted(self.stuck)
        parts = [f"rank {rank} {self.states[rank].describe()}" for rank in stuck]
        sentence = f"{words.capital(_ranks(stuck))} can't go on, and the cause can't be seen: {'; '.join(parts)}."
        return self._result("unknown", sentence, stuck)


def _ranks(ranks: Sequence[int]) -> str:
    return words.numbered("rank", ranks)
