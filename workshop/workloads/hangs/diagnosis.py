"""Which rank waits for which, which ranks can't move on whatever the others do, and why.

A rank that waits in MPI waits for other ranks: for the source of a message, for its destination, or for the ranks that
are missing from a collective call. A wait can end only if a rank for which it waits can move on. Ranks that compute or
sleep can move on, and so can the ranks that wait for them. All others are stuck. The cause is a call that doesn't fit,
a rank that stands still outside of MPI, or a circle of waits. Calls are compared first, also those made before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any

import yaml

from workshop.core import words
from workshop.workloads.hangs.recorder import ANY
from workshop.workloads.hangs.states import Activity, Call, RankState, match_collectives, match_message

MOVING: tuple[Activity, ...] = ("computing", "sleeping", "pipe", "unknown")  # or nobody knows that they can't
BLOCKED = ("input", "lock", "stopped")  # outside of MPI; nothing changes that by itself
_ranks = partial(words.numbered, "rank")
TRUNCATED = "MPI_ERR_TRUNCATE"  # in an exception: a rank got more than it had room for
_FILE = files("workshop.workloads.hangs").joinpath("kinds.yaml")
# Each kind of diagnosis: its `cause`, what would mend it (`fix`), and causes that are `wrong`.
KINDS: Mapping[str, Mapping[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))


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

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """The part that two diagnoses of the same hang have in common."""
        return self.kind, self.ranks

    def __str__(self) -> str:
        return "\n".join([self.sentence, f"Fix: {self.fix}", *self.lines])


def cause(kind: str, ranks: Sequence[int]) -> str:
    """Ranks and what they have, such as "Ranks 0 and 1: receives in a circle"."""
    return f"{words.capital(_ranks(ranks))}: {KINDS[kind]['cause']}"


def diagnose(states: Sequence[RankState]) -> Diagnosis | None:
    """Say why the ranks of a program wait in which nothing moves; None where no rank waits for another one."""
    return _WaitGraph(states).diagnosis() if states else None


class _WaitGraph:
    """The states of all ranks by rank; `waiters` wait in MPI, each for its `targets`; `stuck` ranks can't move on."""

    def __init__(self, states: Sequence[RankState]) -> None:
        self.states = {state.rank: state for state in sorted(states, key=lambda state: state.rank)}
        self.waiters = [state for state in self.states.values() if state.waits]
        self.targets = {state.rank: self._targets(state) for state in self.waiters}
        self.stuck = self._stuck()

    def members(self, call: Call) -> tuple[int, ...]:
        return call.ranks or tuple(self.states)

    def awaited(self, state: RankState) -> tuple[Call, ...]:
        """The operations for which a rank waits: its call, or the requests of its wait."""
        parts: list[Call] = []
        for call in state.call.requests or (state.call,) if state.call is not None else ():
            if call.dest is not None and call.source is not None:  # Sendrecv: either half may be complete
                parts.append(replace(call, dest=None, tag=None))
                call = replace(call, source=None, recvtag=None)
            parts.append(call)
        return tuple(parts)

    def calls_at(self, call: Call) -> dict[int, Call]:
        """The calls with the number of a collective call on its communicator, by rank; ranks without one are absent."""
        key = (call.scope, call.number)
        states = [self.states[rank] for rank in self.members(call) if rank in self.states]
        return {state.rank: other for state in states for other in state.calls if (other.scope, other.number) == key}

    def absent(self, call: Call) -> list[int]:
        """The ranks that have not reached a collective call. A rank that is further has left the call behind, also
        where its history doesn't reach back so far."""
        numbers = {
            rank: max((other.number or 0 for other in state.calls if other.scope == call.scope), default=0)
            for rank, state in self.states.items()
        }
        return [rank for rank in self.members(call) if numbers.get(rank, 0) < (call.number or 0)]

    def _targets(self, state: RankState) -> list[set[int]]:
        """For each operation that a rank awaits, the ranks for which it waits; empty: that can't be told."""
        targets: list[set[int | None]] = []
        for call in self.awaited(state):
            if call.collective:
                others = {rank for rank, other in self.calls_at(call).items() if not match_collectives(call, other)}
                absent = set(self.absent(call))
                root = call.world(call.root)  # a rank that is not the root may wait for the root alone
                targets.append({*others, *({root} if root in absent else absent)})
            elif call.source is not None:
                peers = set(self.members(call)) - {state.rank} if call.source == ANY else {call.world(call.source)}
                targets.append(set() if self._sent_to(state.rank, call) else {*peers})
            elif call.dest is not None:
                targets.append({call.world(call.dest)})
            elif call.name in ("Finalize", "Init"):
                targets.append({rank for rank, other in self.states.items() if other.does not in ("ended", "raised")})
            elif call.name.startswith("File_"):  # not recorded, and may take long by itself
                targets.append(set())
            else:  # not recorded, so that it may be any rank
                targets.append({*self.states.keys() - {state.rank}})
        return [{rank for rank in ranks if rank is not None} for ranks in targets]

    def _stuck(self) -> set[int]:
        """The ranks that can't move on, whatever the moving ones do."""
        movable = {state.rank for state in self.states.values() if state.does in MOVING}
        while more := {state.rank for state in self.waiters if self._may_move(state, movable)} - movable:
            movable |= more
        return {state.rank for state in self.states.values() if state.waits or state.does in BLOCKED} - movable

    def _may_move(self, state: RankState, movable: set[int]) -> bool:
        """Whether a wait can end. Some of several requests may be complete already, so that one that can be is
        enough; it is enough too where nobody knows for whom a rank waits."""
        targets = self.targets[state.rank]
        if not targets:
            return True
        lacking = (self._unsent(state, call, ranks) and not ranks & movable for call, ranks in self.pairs(state))
        if state.call is not None and state.call.name.lower() in ("waitall", "testall") and any(lacking):
            return False
        either = len(targets) > 1 or any(call.source == ANY or not call.comm for call in self.awaited(state))
        return any(not ranks or (ranks & movable if either else ranks <= movable) for ranks in targets)

    def stuck_calls(self) -> Iterator[tuple[RankState, Call]]:
        """The operations that stuck ranks await, each with the state of its rank."""
        return ((state, call) for state in self.waiters if state.rank in self.stuck for call in self.awaited(state))

    def pairs(self, state: RankState) -> Iterator[tuple[Call, set[int]]]:
        """The operations that a rank awaits, each with the ranks for which it waits."""
        return zip(self.awaited(state), self.targets[state.rank], strict=True)

    def unreceived(self, sender: RankState, receiver: RankState) -> Iterator[Call]:
        """The last send of each kind that a rank has not received as often, as far as both histories reach back."""
        since = receiver.history[0].time if receiver.history and not receiver.complete else 0.0
        pending = receiver.call.requests if receiver.waits and receiver.call is not None else ()
        sends = [call for call in sender.calls if call.dest is not None and call.time >= since]
        sends = [call for call in sends if call.world(call.dest) == receiver.rank]
        received = Counter(
            (call.scope, call.world(call.source), call.recvtag) for call in receiver.history
            if call.source is not None and call not in pending and "probe" not in call.name.lower()
        )  # fmt: skip
        sent = Counter((call.scope, call.tag) for call in sends)
        for (scope, tag), call in {(call.scope, call.tag): call for call in sends}.items():
            if sent[scope, tag] > received[scope, sender.rank, tag] + received[scope, None, tag]:
                yield call

    def _sent_to(self, rank: int, call: Call) -> bool:
        """Whether a message that fits a receive is on its way."""
        peers = self.members(call) if call.source == ANY else (call.world(call.source),)
        return any(
            match_message(call, peer, sent)
            for peer in peers
            if peer in self.states
            for sent in self.unreceived(self.states[peer], self.states[rank])
        )

    def _unsent(self, state: RankState, call: Call, ranks: set[int]) -> bool:
        """Whether it is sure that nothing was sent for a receive: the histories of all have all calls."""
        receives = call.source is not None and call.dest is None and bool(ranks)
        return receives and all(self.states[rank].complete for rank in {state.rank, *ranks} & self.states.keys())

    def dependents(self, rank: int) -> list[int]:
        """The ranks that wait for a rank, directly or through others."""
        reached = {rank}
        while more := {r for r, sets in self.targets.items() if r not in reached and any(s & reached for s in sets)}:
            reached |= more
        return sorted(reached - {rank})

    def next_stuck(self, rank: int) -> int | None:
        """A stuck rank for which a rank waits."""
        targets = (target for ranks in self.targets.get(rank, []) for target in sorted(ranks))
        return next((target for target in targets if target in self.stuck and target in self.targets), None)

    def diagnosis(self) -> Diagnosis | None:
        if not self.stuck:
            return self._outside(*MOVING) or self._unseen()
        truncated = any(state.does == "raised" and TRUNCATED in state.detail for state in self.states.values())
        return (
            (self._mismatch() if truncated else None)
            or self._outside("raised", "stopped")
            or self._mismatch()
            or self._message()
            or self._outside("lock", "input", "ended")
            or self._circle()
            or self._missing()
            or self._pending()
            or self._unknown()
        )

    # Causes, the surest first.

    def _result(self, kind: str, sentence: str, ranks: Iterable[int], hang: bool = True) -> Diagnosis:
        cause = tuple(sorted(set(ranks)))
        waiting = tuple(state.rank for state in self.waiters if state.rank not in cause)
        lines = tuple(state.line for state in self.states.values())
        return Diagnosis(kind, sentence, KINDS[kind]["fix"], hang, cause, waiting, lines)

    def _outside(self, *kinds: Activity) -> Diagnosis | None:
        """A rank that does one of this outside of MPI, and for which others wait."""
        states = [state for state in self.states.values() if state.does in kinds]
        for state in sorted(states, key=lambda state: kinds.index(state.does)):
            waiting, hang = self.dependents(state.rank), bool(self.stuck)
            if hang and state.rank not in self.stuck and not self.stuck & set(waiting):
                continue
            if not waiting and not hang:
                continue
            direct = [rank for rank in waiting if any(state.rank in ranks for ranks in self.targets[rank])]
            pairs = (pair for rank in direct for pair in self.pairs(self.states[rank]))
            call, targets = next((pair for pair in pairs if state.rank in pair[1]), (None, set[int]()))
            message = call is not None and call.comm != "" and not call.collective
            if call is not None and message and state.does == "ended" and not state.detail:
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
        for state, call in self.stuck_calls():
            if not call.collective:
                continue
            calls = {state.rank: call} | self.calls_at(call)  # a request may be older than the history
            usual = Counter(other.signature for other in calls.values()).most_common(1)[0][0]
            base = next(other for other in calls.values() if other.signature == usual)
            others = [rank for rank, other in calls.items() if not match_collectives(base, other)]
            if others:
                return self._other(base, calls[others[0]], [rank for rank in calls if rank not in others], others)
        return None

    def _other(self, call: Call, other: Call, ranks: list[int], others: list[int]) -> Diagnosis:
        kind = "other-collective"
        if call.name == other.name:
            kind = "other-root" if call.root != other.root else "other-size"
        first, second = (
            f"{_ranks(calling)} {words.verb(len(calling), 'calls', 'call')} {example.describe()} at {example.place}"
            for calling, example in ((others, other), (ranks, call))
        )
        sentence = f"{words.capital(first)} as number {call.number} on {call.comm}, and {second}."
        return self._result(kind, sentence, others)

    def _message(self) -> Diagnosis | None:
        """A message that has another tag, communicator or destination than the receive for which a rank waits."""
        for state, call in self.stuck_calls():
            peer = call.world(call.source)
            senders = sorted(self.states.values(), key=lambda sender: sender.rank != peer)
            for sender in senders if call.source is not None else ():
                for sent in self.unreceived(sender, state):
                    other = any(match_message(pending, sender.rank, sent) for pending in self.awaited(state))
                    if not other and (diagnosis := self._misfit(state, call, sender, sent)) is not None:
                        return diagnosis
        return None

    def _misfit(self, state: RankState, call: Call, sender: RankState, sent: Call) -> Diagnosis | None:
        peer = call.world(call.source)
        start = f"Rank {state.rank} waits for {call.describe()}, at {state.place}, and rank {sender.rank} "
        now = f" Rank {sender.rank} {sender.describe()}." if sender.waits and sent is not sender.call else ""
        ranks = [state.rank, sender.rank]
        if peer is not None and peer != sender.rank:
            circle = sent is sender.call and peer in self.dependents(state.rank)  # the sender waits in it, too
            if circle or sent.scope != call.scope or call.recvtag not in (ANY, sent.tag):
                return None
            return self._result("wrong-peer", f"{start}has sent {sent.describe()} at {sent.place}.{now}", ranks)
        if sent.scope != call.scope:
            sentence = f"{start}has sent its message on {sent.comm}, at {sent.place}: {sent.describe()}.{now}"
            return self._result("other-communicator", sentence, ranks)
        polls = call.name.lower() in ("iprobe", "improbe")  # which look for one of several tags
        if call.recvtag not in (ANY, sent.tag) and not polls:
            return self._result("tag-mismatch", f"{start}has sent with tag {sent.tag}, at {sent.place}.{now}", ranks)
        return None

    def _kind(self, state: RankState, call: Call) -> str:
        """The kind of a wait for a message that doesn't come or isn't taken."""
        if "probe" in call.name.lower():
            return "probe"
        if state.call is not None and state.call.requests:
            return "wait-for-request"
        return "send-without-receive" if call.dest is not None else "receive-without-send"

    def _lone(self, state: RankState, call: Call, peer: RankState | None) -> Diagnosis:
        """A message that a rank waits to send or to receive, and its peer, or no rank at all, does anything of the
        kind."""
        kind = self._kind(state, call)
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
        calls = [call for _, call in self.stuck_calls()]
        counts = Counter((call.scope, call.number) for call in calls if call.collective and self.absent(call))
        if not counts:
            return None
        key = counts.most_common(1)[0][0]
        call = next(call for call in calls if (call.scope, call.number) == key)
        absent = self.absent(call)
        scopes = {state.rank: [each.scope for each in self.awaited(state)] for state in self.waiters}
        waiting = [rank for rank in scopes if call.scope in scopes[rank] and rank not in absent]
        if (inner := self._inner(call, absent, waiting)) is not None:
            return inner
        parts = [
            f"{'it' if len(absent) == 1 else f'rank {rank}'} {self.states[rank].describe()}"
            for rank in absent if rank in self.states
        ]  # fmt: skip
        sentence = (
            f"{words.capital(_ranks(absent))} {words.verb(len(absent))} missing from {call.title}, for which "
            f"{_ranks(waiting)} {words.verb(len(waiting), 'waits', 'wait')} at {call.place}: {'; '.join(parts)}."
        )
        return self._result("missing-from-collective", sentence, absent)

    def _inner(self, call: Call, absent: Sequence[int], waiting: Sequence[int]) -> Diagnosis | None:
        """The message for which a rank waits in vain that is missing from a collective call."""
        pairs = [(self.states[rank], each) for rank in absent if rank in self.states
                 for each in self.awaited(self.states[rank]) if each.comm and not each.collective]  # fmt: skip
        pairs.sort(key=lambda pair: pair[1].world(pair[1].source if pair[1].dest is None else pair[1].dest) in absent)
        if not pairs:
            return None
        state, message = pairs[0]
        sentence = (
            f"Rank {state.rank} {state.describe()}, and no rank {'sends' if message.dest is None else 'receives'} it. "
            f"So {_ranks(waiting)} {words.verb(len(waiting), 'waits', 'wait')} for it in {call.title}, at {call.place}."
        )
        return self._result(self._kind(state, message), sentence, [state.rank])

    def _unseen(self) -> Diagnosis | None:
        """Ranks of which no call can be seen."""
        living = [state for state in self.states.values() if state.does not in ("ended", "raised")]
        if any(state.calls for state in self.states.values()) or {state.does for state in living} != {"unknown"}:
            return None
        ranks = [state.rank for state in living]
        parts = "; ".join(f"rank {state.rank} {state.describe()}" for state in living)
        sentence = f"Nothing moves, and no MPI call of {_ranks(ranks)} can be seen: {parts}."
        return self._result("unseen", sentence, ranks, hang=False)

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
