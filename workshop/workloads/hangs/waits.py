"""Which rank waits for which, and which ranks can't move on whatever the others do.

A rank that waits in MPI waits for other ranks: for the source of a message, for its destination, or for the ranks that
are missing from a collective call. A wait can end only if a rank for which it waits can move on. Ranks that compute or
sleep can move on, and so can the ranks that wait for them. All others are stuck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workshop.workloads.hangs.recorder import ANY
from workshop.workloads.hangs.states import Activity, Call, RankState, match_collectives, match_message

MOVING: tuple[Activity, ...] = ("computing", "sleeping", "pipe", "unknown")  # or nobody knows that they can't
BLOCKED = ("input", "lock", "file-lock", "stopped", "spawned")  # outside of MPI; nothing changes that by itself


class WaitGraph:
    """The states of all ranks by rank; `waiters` wait in MPI, each for its `targets`; `stuck` ranks can't move on.
    `others_move` says that ranks of other jobs, which stand as ANY among the targets, may move on."""

    def __init__(self, states: Sequence[RankState], others_move: bool = True) -> None:
        self.others_move = others_move
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
        where its history doesn't reach back so far. Those that are in a call without a number have reached it."""
        if call.number is None:
            inside = {
                (state.rank, other.name, other.scope) for state in self.waiters if (other := state.call) is not None
            }
            return [rank for rank in self.members(call) if (rank, call.name, call.scope) not in inside]
        numbers = {
            rank: max((other.number or 0 for other in state.calls if other.scope == call.scope), default=0)
            for rank, state in self.states.items()
        }
        return [rank for rank in self.members(call) if numbers.get(rank, 0) < call.number]

    def _targets(self, state: RankState) -> list[set[int]]:
        """For each operation that a rank awaits, the ranks for which it waits; empty: that can't be told."""
        targets: list[set[int | None]] = []
        for call in self.awaited(state):
            if call.collective:
                calls = self.calls_at(call) if call.number is not None else {}
                others = {rank for rank, other in calls.items() if not match_collectives(call, other)}
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
            elif call.name.startswith("File_"):  # may take long by itself
                targets.append(set())
            else:  # not recorded, so that it may be any rank
                targets.append({*self.states.keys() - {state.rank}})
        return [{rank for rank in ranks if rank is not None} for ranks in targets]

    def _stuck(self) -> set[int]:
        """The ranks that can't move on, whatever the moving ones do."""
        movable = {state.rank for state in self.states.values() if state.does in MOVING}
        if movable:  # a moving rank may be the one that gives a lock on a file back
            movable |= {state.rank for state in self.states.values() if state.does == "file-lock"}
        movable |= {ANY} if self.others_move else set()
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
