"""The task stream: what each rank has done last, phase by phase, from the events `time.<phase>`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from workshop.core import words
from workshop.store.records import Event

PREFIX = "time."  # of events
WINDOW, LEAST = 10.0, 0.1  # seconds: the longest stream, and the shortest
LASTING = 0.5  # seconds after which the words on a phase tell its time
LATE = 2.0  # seconds: events of a rank come sooner, or it tells no more
BARS, MOST, FEWEST = 1600, 300, 20  # spans of all ranks together, and of one rank
ORDER = ("input", "compute", "wait", "communicate")  # of phases in a step
VERBS = {"compute": "computes", "wait": "waits for others", "communicate": "exchanges data", "input": "reads input"}

Phases = Mapping[int, tuple[str, float]]  # rank -> a phase that lasts, and its begin in seconds since the epoch


@dataclass(frozen=True)
class Span:
    """A phase of a rank, in seconds since the epoch."""

    rank: int
    phase: str
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True)
class Stream:
    """The spans of `ranks` ranks between two times; `phases` last at its end."""

    ranks: int
    begin: float
    end: float
    spans: tuple[Span, ...]
    phases: Phases

    def words(self, rank: int) -> str:
        """What a rank does at the end of the stream, for instance "waits for others, 3.2 s"."""
        if rank in self.phases:
            phase, since = self.phases[rank]
            return f"{_verb(phase)}, {words.seconds(max(self.end - since, 0.0))}"
        spent: dict[str, float] = defaultdict(float)
        for span in self.spans:
            if span.rank == rank:
                spent[span.phase] += span.seconds
        if not spent:
            return "has told no phase"
        phase = max(spent, key=spent.__getitem__)
        return f"{_verb(phase)} for {words.percent(spent[phase] / sum(spent.values()))} of the time"

    @property
    def sentence(self) -> str:
        return "; ".join(f"rank {rank} {self.words(rank)}" for rank in range(self.ranks)).capitalize() + "."


def _verb(phase: str) -> str:
    return VERBS.get(phase, f"is in {phase}")


def stream(
    events: Iterable[Event], ranks: int, phases: Phases | None = None, now: float | None = None, wide: float = WINDOW
) -> Stream | None:
    """The last seconds of all ranks, at most `wide` of them and fewer where phases are short; None without a phase.

    `phases` are those that last `now` and have no event yet; where `now` is in the past, later events tell them.
    Without `now` the stream ends with the last event.
    """
    by_rank = spans(events)
    past = now is not None and any(of_rank[-1].end > now for of_rank in by_rank.values())
    if now is not None:
        by_rank, begun = _cut(by_rank, now)
        phases = begun | dict(phases or {})
    phases = {rank: phase for rank, phase in (phases or {}).items() if rank < ranks}
    ends = {rank: of_rank[-1].end for rank, of_rank in by_rank.items()}
    if not ends and not phases:
        return None
    if now is None:
        end = max(ends.values(), default=0.0)
    elif past:
        end = now
    else:  # other ranks' events may be on their way
        end = min((at for rank, at in ends.items() if rank not in phases and now - at < LATE), default=now)
    for rank, (phase, since) in phases.items():
        by_rank[rank] = [*by_rank.get(rank, []), Span(rank, phase, since, max(end, since))]
    most = min(max(BARS // (2 * ranks), FEWEST), MOST)
    dense = [of_rank[-most].begin for of_rank in by_rank.values() if len(of_rank) >= most]
    begin = max(min(max([end - wide, *dense]), end - LEAST), min(of_rank[0].begin for of_rank in by_rank.values()))
    begin = min(begin, end)
    visible = [span for rank in sorted(by_rank) for span in joined(by_rank[rank], begin, end, (end - begin) / most)]
    return Stream(ranks, begin, end, tuple(visible), phases)


def spans(events: Iterable[Event]) -> dict[int, list[Span]]:
    """The spans of each rank, in order of time. The phases of a step end at the time of its events, one behind the
    other; they never reach into the step before."""
    steps: dict[tuple[int, float], list[Event]] = defaultdict(list)
    for event in events:
        if event.name.startswith(PREFIX) and isfinite(event.value) and event.value > 0:
            steps[event.rank, event.time].append(event)
    by_rank: dict[int, list[Span]] = defaultdict(list)
    for (rank, at), step in sorted(steps.items()):
        before = by_rank[rank][-1].end if by_rank[rank] else -float("inf")
        begin = at - sum(event.value for event in step)
        for event in sorted(step, key=lambda event: _place(event.name.removeprefix(PREFIX))):
            end = begin + event.value
            if end > before:
                by_rank[rank].append(Span(rank, event.name.removeprefix(PREFIX), max(begin, before), end))
            begin = end
    return {rank: of_rank for rank, of_rank in by_rank.items() if of_rank}


def _cut(by_rank: Mapping[int, list[Span]], now: float) -> tuple[dict[int, list[Span]], dict[int, tuple[str, float]]]:
    """The spans before a time, and the phases that had lasted then."""
    past = {rank: [span for span in of_rank if span.end <= now] for rank, of_rank in by_rank.items()}
    begun = [span for of_rank in by_rank.values() for span in of_rank if span.begin < now < span.end]
    for span in begun:
        past[span.rank].append(replace(span, end=now))
    lasting = {span.rank: (span.phase, span.begin) for span in begun if now - span.begin > LASTING}
    return {rank: of_rank for rank, of_rank in past.items() if of_rank}, lasting


def _place(phase: str) -> int:
    return ORDER.index(phase) if phase in ORDER else len(ORDER)


def joined(of_rank: Sequence[Span], begin: float, end: float, pixel: float) -> list[Span]:
    """The spans of one rank between two times. Neighbours of one phase, and spans that are shorter than a `pixel`
    (seconds), become one span, which has the phase that has most of its time."""
    groups: list[list[Span]] = []
    for span in of_rank:
        if span.end <= begin or span.begin >= end:
            continue
        clipped = replace(span, begin=max(span.begin, begin), end=min(span.end, end))
        group = groups[-1] if groups else None
        if (
            group is not None
            and clipped.begin - group[-1].end < pixel
            and (
                {span.phase for span in group} == {clipped.phase}
                or (clipped.seconds < pixel and clipped.end - group[0].begin <= pixel)
            )
        ):
            group.append(clipped)
        else:
            groups.append([clipped])
    return [_merged(group) for group in groups]


def _merged(group: Sequence[Span]) -> Span:
    spent: dict[str, float] = defaultdict(float)
    for span in group:
        spent[span.phase] += span.seconds
    return replace(group[0], phase=max(spent, key=spent.__getitem__), end=group[-1].end)
