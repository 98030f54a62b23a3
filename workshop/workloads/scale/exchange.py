"""The time of an all-reduce, by formula and by simulated messages: ring, recursive doubling, tree, hierarchical, and
parameter servers.

A message of b bytes takes `latency` + b / `bandwidth`. A rank sends and receives at the same time, but one message in
each direction. Sources: Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19, 2005) for recursive
doubling and trees; Patarasuk and Yuan (J. Parallel Distrib. Comput. 69, 2009) for the ring; Li et al. (OSDI 2014) for
parameter servers. A hierarchical all-reduce adds up inside each host, goes round the hosts in a ring, and spreads the
sum inside each host (Goyal et al., arXiv:1706.02677, section 4).

Additions take no time here: they are a part of the bandwidth, where a measured one is used. The formulas are exact
where ranks and ranks per host are powers of two; otherwise some ranks may start a little earlier than they assume.

In the simulation of repeated steps, each message is an event, and each rank sends and receives one at a time. It tells
more than the formulas: a rank that has its sum early begins its next step early, so that exchanges of neighbouring
steps overlap a little. It takes longer with many ranks.

`rounds` has all-reduces as data: which rank sends which part of its array to which rank, round by round. A rank takes
part in a round as soon as its own messages of the round before have arrived. Each message carries what the sender had
at the beginning of the round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Algorithm = Literal["ring", "recursive-doubling", "tree", "hierarchical", "servers"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)


@dataclass(frozen=True)
class NetworkLink:
    """A connection of two ranks: the latency of a message [s], and the bandwidth [bytes/s]."""

    latency: float
    bandwidth: float

    def seconds(self, size: float) -> float:
        """The time of a message of `size` bytes."""
        return self.latency + size / self.bandwidth


@dataclass(frozen=True)
class Network:
    """The links inside a host and between hosts. `per_host`: ranks of a host; 0: all ranks are on one host. `shared`:
    the ranks of a host share its link to other hosts; otherwise each rank has such a link."""

    inside: NetworkLink
    between: NetworkLink
    per_host: int = 0
    shared: bool = False

    def hosts(self, ranks: int) -> int:
        return -(-ranks // self.per_host) if self.per_host else 1

    def link(self, ranks: int) -> NetworkLink:
        """The link that decides between so many neighbours: the one between hosts where there are several."""
        return self.between if self.hosts(ranks) > 1 else self.inside

    def slower(self, factor: float) -> Network:
        """The network on which each message takes `factor` times as long."""
        links = [NetworkLink(link.latency * factor, link.bandwidth / factor) for link in (self.inside, self.between)]
        return replace(self, inside=links[0], between=links[1])

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> Network:
        """The network with other links between hosts, or inside the host where there is one host."""
        link = self.between if self.per_host else self.inside
        other = NetworkLink(link.latency * latency, link.bandwidth * bandwidth)
        return replace(self, between=other) if self.per_host else replace(self, inside=other)


def exchange_seconds(algorithm: Algorithm, ranks: int, size: float, network: Network, servers: int = 1) -> float:
    """The time [s] of an all-reduce of `size` bytes on all ranks; 0 for one rank. `servers`: parameter servers, on the
    first ranks, each with a share of the array."""
    if ranks < 2:
        return 0.0
    match algorithm:
        case "ring":
            return _ring(ranks, size, network)
        case "recursive-doubling":
            power = ranks.bit_length() - 1
            fold = 2 * network.link(ranks).seconds(size) if ranks > 1 << power else 0.0
            # All ranks of a host send at once.
            slower = 1 / min(network.per_host, ranks) if network.shared and network.hosts(ranks) > 1 else 1.0
            return fold + _rounds(1 << power, size, network.scaled(bandwidth=slower))
        case "tree":
            return 2 * _rounds(ranks, size, network)
        case "hierarchical":
            hosts = network.hosts(ranks)
            leaders = replace(network, inside=network.between, per_host=0)
            members = min(network.per_host or ranks, ranks)
            return 2 * _rounds(members, size, replace(network, per_host=0)) + _ring(hosts, size, leaders)
        case "servers":
            on_host = min(servers, network.per_host or servers) if network.shared else 1
            return 2 * _server(ranks, size / servers, network.scaled(bandwidth=1 / on_host))


def _rounds(ranks: int, size: float, network: Network) -> float:
    """Rounds in which the distance of partners doubles, each with a message of all bytes."""
    distances = (1 << number for number in range(math.ceil(math.log2(ranks))))
    links = (network.inside if distance < (network.per_host or ranks) else network.between for distance in distances)
    return sum(link.seconds(size) for link in links)


def _ring(ranks: int, size: float, network: Network) -> float:
    """2 (n - 1) steps with a message of 1/n of the bytes. With several hosts, the slowest way through the steps counts:
    a chunk that travels, or a link between hosts that is always busy."""
    if ranks < 2:
        return 0.0
    steps, hosts, members = 2 * (ranks - 1), network.hosts(ranks), network.per_host or ranks
    inside, between = network.inside.seconds(size / ranks), network.between.seconds(size / ranks)
    if hosts == 1:
        return steps * inside
    # A chunk makes two rounds of the ring without two neighbouring steps: those inside a host, where there are two.
    crossings = steps if members == 1 else 2 * hosts - (1 if members == 2 else 0)
    busy = between + (steps - 1) * size / ranks / network.between.bandwidth
    return max(crossings * between + (steps - crossings) * inside, busy)


def _server(ranks: int, size: float, network: Network) -> float:
    """A server's link carries a message of `size` bytes from each other rank, one after the other; or to each."""
    others = ranks - min(network.per_host or ranks, ranks)
    near = ranks - 1 - others
    link = network.link(ranks)
    return link.latency + others * size / network.between.bandwidth + near * size / network.inside.bandwidth


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
            return ranks, _ring_transfers(range(ranks))
        case "recursive-doubling":
            return 1, _doubling(ranks)
        case "tree":
            return 1, [*_up(range(ranks), 1), *_down(range(ranks), 1)]
        case "hierarchical":
            hosts = [range(first, min(first + members, ranks)) for first in range(0, ranks, members)]
            chunks = len(hosts)
            inside = [_up(host, chunks) for host in hosts], [_down(host, chunks) for host in hosts]
            return chunks, [*_merge(inside[0]), *_ring_transfers([host[0] for host in hosts]), *_merge(inside[1])]
        case "servers":
            return servers, _servers(ranks, servers)


def _ring_transfers(members: Sequence[int]) -> Rounds:
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
