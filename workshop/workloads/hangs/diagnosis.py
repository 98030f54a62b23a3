"""Why do ranks wait: the cause of waits that can't end by themselves (`waits`).

The cause is a call that doesn't fit, a rank that stands still outside of MPI, or a circle of waits. Calls are compared
first, also the calls that each rank has made before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import yaml

from workshop.core import words
from workshop.workloads.hangs.recorder import ANY, HOROVOD
from workshop.workloads.hangs.states import Activity, Call, RankState, match_collectives, match_message
from workshop.workloads.hangs.waits import MOVING, WaitGraph

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
        """What two diagnoses of the same hang have in common."""
        return self.kind, self.ranks

    def __str__(self) -> str:
        return "\n".join([self.sentence, f"Fix: {self.fix}", *self.lines])


def cause(kind: str, ranks: Sequence[int]) -> str:
    """Ranks and what they have, such as "Ranks 0 and 1: receives in a circle"."""
    return f"{words.capital(_ranks(ranks))}: {KINDS[kind]['cause']}"


def diagnose(states: Sequence[RankState], others_move: bool = True) -> Diagnosis | None:
    """Say why the ranks of a program wait in which nothing moves; None where no rank waits for another one.
    `others_move`: ranks of other jobs may move on."""
    return _Diagnostician(states, others_move).diagnosis() if states else None


def diagnose_jobs(jobs: Mapping[str, Sequence[RankState]]) -> dict[str, Diagnosis]:
    """The diagnoses of a program's jobs by job. Jobs that wait for each other have one together."""
    all_states = [state for states in jobs.values() for state in states]
    others_move = len(jobs) == 1 or any(not state.waits and state.does != "ended" for state in all_states)
    diagnoses = {job: named for job, states in jobs.items() if (named := diagnose(states, others_move)) is not None}
    together = [job for job, named in diagnoses.items() if named.kind == "other-job"]
    for job in together[1:]:
        first, other = diagnoses[together[0]], diagnoses.pop(job)
        sentence = f"{first.sentence} In that job, {other.sentence[:1].lower()}{other.sentence[1:]}"
        lines = (*first.lines, *other.lines)
        diagnoses[together[0]] = replace(first, sentence=sentence, lines=lines)
    return diagnoses


def diagnose_spawned(ranks: Collection[int]) -> Diagnosis:
    """Say why a program has failed in which multiprocessing has spawned processes that are ranks again."""
    of = _ranks(sorted(ranks))
    sentence = f"multiprocessing has spawned processes of {of}, and each starts MPI again as the same rank."
    return Diagnosis("spawned", sentence, KINDS["spawned"]["fix"], False, tuple(sorted(ranks)), ())


class _Diagnostician(WaitGraph):
    """The causes of a graph's waits."""

    def diagnosis(self) -> Diagnosis | None:
        if not self.stuck:
            return self._outside(*MOVING) or self._unseen()
        truncated = any(state.does == "raised" and TRUNCATED in state.detail for state in self.states.values())
        return (
            (self._mismatch() if truncated else None)
            or self._outside("raised", "stopped", "spawned")
            or self._mismatch()
            or self._message()
            or self._outside("file-lock", "lock", "input", "ended")
            or self._other_job()
            or self._circle()
            or self._missing()
            or self._pending()
            or self._unknown()
        )

    # Causes, the surest first.

    def _result(self, kind: str, sentence: str, ranks: Iterable[int], hang: bool = True) -> Diagnosis:
        cause = tuple(sorted(set(ranks)))
        waiting = tuple(state.rank for state in self.waiters if state.rank not in cause)
        for rank, state in self.states.items():
            if hang and state.failed is not None and state.does != "raised":
                failed = state.failed
                sentence += f" The {failed.name} of rank {rank}, at {failed.place}, has raised an exception."
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
            left = self._left(call, cause) if call is not None and hang else ""
            return self._result(state.does, f"{sentence}.{left}", cause, hang)
        return None

    def _mismatch(self) -> Diagnosis | None:
        """Ranks that are at the same number of a communicator with calls that don't fit."""
        for state, call in self.stuck_calls():
            if not call.collective or call.number is None or call.foreign:
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
        return self._result(kind, sentence + self._left(call, others), others)

    def _left(self, call: Call, ranks: Iterable[int]) -> str:
        """Say after how many calls ranks have left the place of a collective call, such as a loop with a step less;
        empty where they have made none there, or where their histories don't have all calls."""
        sentence = ""
        for state in (self.states[rank] for rank in ranks if call.place):
            number = sum((each.place, each.scope) == (call.place, call.scope) for each in state.history)
            if state.complete and number and state.call != call:
                calls = f"{number} {'call' if number == 1 else 'calls'}"
                sentence += f" Rank {state.rank} left {call.place} after {calls}."
        return sentence

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

    def _other_job(self) -> Diagnosis | None:
        """Ranks that wait for ranks of another job."""
        stuck = sorted({state.rank for state, call in self.stuck_calls() if call.foreign})
        parts = [f"rank {rank} {self.states[rank].describe()}" for rank in stuck]
        sentence = f"{words.capital('; '.join(parts))}, for another job."
        return self._result("other-job", sentence, stuck) if stuck else None

    def _unseen(self) -> Diagnosis | None:
        """Ranks of which no call can be seen."""
        living = [state for state in self.states.values() if state.does not in ("ended", "raised")]
        seen = [call for state in self.states.values() for call in state.calls if call.comm != HOROVOD]
        if seen or {state.does for state in living} != {"unknown"}:
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


def _ranks(ranks: Sequence[int]) -> str:
    return words.numbered("rank", ranks)
