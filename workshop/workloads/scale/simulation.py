"""A discrete simulation of repeated steps: each message is an event, and each rank sends and receives one at a time.

It tells more than the formulas of `exchange`: a rank that has its sum early begins its next step early, so that
exchanges of neighbouring steps overlap a little. It takes longer with many ranks.

`rounds` has all-reduces as data: which rank sends which part of its array to which rank, round by round. A rank takes
part in a round as soon as its own messages of the round before have arrived. Each message carries what the sender had
at the beginning of the round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import Algorithm, Network, NetworkLink

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transfer:
    """A message with the chunks `begin` to `end` (exclusive) of the array. The receiver adds them to its own chunks, or
    replaces those."""

    source: int
    destination: int
    begin: int
    end: int
    add: bool


Rounds = list[list[Transfer]]


def rounds(algorithm: Algorithm, ranks: int, per_host: int = 0, servers: int = 1) -> tuple[int, Rounds]:
    """The number of chunks of the array, and the messages of each round. After the last round each rank has the sum."""
    members = per_host or ranks
    match algorithm:
        case "ring":
            return ranks, _ring(range(ranks))
        case "recursive-doubling":
            return 1, _doubling(ranks)
        case "tree":
            return 1, [*_up(range(ranks), 1), *_down(range(ranks), 1)]
        case "hierarchical":
            hosts = [range(first, min(first + members, ranks)) for first in range(0, ranks, members)]
            chunks = len(hosts)
            inside = [_up(host, chunks) for host in hosts], [_down(host, chunks) for host in hosts]
            return chunks, [*_merge(inside[0]), *_ring([host[0] for host in hosts]), *_merge(inside[1])]
        case "servers":
            return servers, _servers(ranks, servers)


def _ring(members: Sequence[int]) -> Rounds:
    """A ring over some ranks: a reduce-scatter, then an all-gather."""
    count = len(members)

    def step(number: int, add: bool) -> Iterator[Transfer]:
        for place, rank in enumerate(members):
            chunk = (place - number + (0 if add else 1)) % count
            yield Transfer(rank, members[(place + 1) % count], chunk, chunk + 1, add)

    return [list(step(number, add)) for add in (True, False) for number in range(count - 1)]


def _doubling(ranks: int) -> Rounds:
    """Partners at distances 1, 2, 4, … exchange all they have. Ranks beyond a power of two add theirs first, and get
    the sum at the end."""
    power = 1 << (ranks.bit_length() - 1)
    extra = range(power, ranks)
    steps = [
        [Transfer(rank, rank ^ distance, 0, 1, True) for rank in range(power)]
        for distance in (1 << number for number in range(power.bit_length() - 1))
    ]
    if not extra:
        return steps
    first = [Transfer(rank, rank - power, 0, 1, True) for rank in extra]
    return [first, *steps, [Transfer(rank - power, rank, 0, 1, False) for rank in extra]]


def _up(members: Sequence[int], chunks: int) -> Rounds:
    """A binomial tree that adds up everything on the first of some ranks."""
    return [
        [
            Transfer(members[place], members[place - distance], 0, chunks, True)
            for place in range(distance, len(members), 2 * distance)
        ]
        for distance in (1 << number for number in range((len(members) - 1).bit_length()))
    ]


def _down(members: Sequence[int], chunks: int) -> Rounds:
    """The same tree, in which the sum goes from the first rank to all."""
    return [
        [Transfer(step.destination, step.source, 0, chunks, False) for step in steps]
        for steps in reversed(_up(members, chunks))
    ]


def _merge(parts: Sequence[Rounds]) -> Rounds:
    """Rounds of several groups at the same time."""
    most = max(map(len, parts), default=0)
    return [[step for part in parts if number < len(part) for step in part[number]] for number in range(most)]


def _servers(ranks: int, servers: int) -> Rounds:
    """Each rank sends each server its chunk, and then each server sends each rank the sum. Ranks begin with different
    servers, so that not all messages go to one server first."""
    turns = [(rank, (rank + turn) % servers) for turn in range(servers) for rank in range(ranks)]
    pairs = [(rank, server) for rank, server in turns if rank != server]
    push = [Transfer(rank, server, server, server + 1, True) for rank, server in pairs]
    return [push, [Transfer(server, rank, server, server + 1, False) for rank, server in pairs]]


@dataclass
class Simulation:
    """Ranks that send and receive. `sending` and `receiving`: until when the link of each rank is busy [s], and then
    that of each host where its ranks share one."""

    ranks: int
    network: Network
    algorithm: Algorithm = "ring"
    servers: int = 1
    sending: Floats = field(init=False)
    receiving: Floats = field(init=False)

    def __post_init__(self) -> None:
        count = self.ranks + self.network.hosts(self.ranks)
        self.sending, self.receiving = np.zeros(count), np.zeros(count)
        members = self.network.per_host or self.ranks
        chunks, messages = rounds(self.algorithm, self.ranks, self.network.per_host, self.servers)

        def is_near(step: Transfer) -> bool:
            return step.source // members == step.destination // members

        def link(step: Transfer) -> NetworkLink:
            return self.network.inside if is_near(step) else self.network.between

        def place(rank: int, step: Transfer) -> int:
            return self.ranks + rank // members if self.network.shared and not is_near(step) else rank

        # For each message of each round: source, destination, the places of their links, latency, and seconds for each
        # byte of the array.
        self._rounds = [
            [
                (
                    step.source,
                    step.destination,
                    place(step.source, step),
                    place(step.destination, step),
                    link(step).latency,
                    (step.end - step.begin) / chunks / link(step).bandwidth,
                )
                for step in steps
            ]
            for steps in messages
        ]

    def exchange(self, ready: Floats, size: float) -> Floats:
        """When each rank has the sum of `size` bytes, if it is ready for the exchange at these times."""
        now = ready.tolist()
        sending, receiving = self.sending.tolist(), self.receiving.tolist()
        for messages in self._rounds:
            arrivals = []
            for order, (source, destination, outgoing, incoming, latency, per_byte) in enumerate(messages):
                begin = max(now[source], sending[outgoing])
                busy = size * per_byte
                sending[outgoing] = begin + busy
                arrivals.append((begin + latency, order, busy, incoming, destination))
            for first_byte, _, busy, incoming, rank in sorted(arrivals):
                receiving[incoming] = max(first_byte, receiving[incoming]) + busy
                now[rank] = max(now[rank], receiving[incoming])
        self.sending, self.receiving = np.array(sending), np.array(receiving)
        return np.array(now)


def step_seconds(
    simulation: Simulation, compute: Floats, sizes: Sequence[float], forward: float, overlap: bool
) -> float:
    """The average time of repeated steps [s]. `compute`: seconds of each step and rank [steps, ranks]. `sizes`: bytes
    of the buckets in the order in which the backward pass, which begins after a share `forward` of compute, has them.
    """
    now, total = np.zeros(simulation.ranks), float(sum(sizes)) or 1.0
    warm_up, starts = len(compute) // 4, 0.0
    for number, seconds in enumerate(compute):
        if number == warm_up:
            starts = float(now.mean())
        begin, end, done, share = now, now, now + seconds, forward
        for size in sizes:
            share += (1 - forward) * size / total
            ready = begin + share * seconds if overlap else done
            end = simulation.exchange(np.maximum(end, ready), size)
        now = np.maximum(end, done)
    return (float(now.mean()) - starts) / (len(compute) - warm_up)
