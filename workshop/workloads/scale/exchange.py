"""The time of an all-reduce by formula: ring, recursive doubling, tree, hierarchical, and parameter servers.

A message of b bytes takes `latency` + b / `bandwidth`. A rank sends and receives at the same time, but one message in
each direction. Sources: Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19, 2005) for recursive
doubling and trees; Patarasuk and Yuan (J. Parallel Distrib. Comput. 69, 2009) for the ring; Li et al. (OSDI 2014) for
parameter servers. A hierarchical all-reduce adds up inside each host, goes round the hosts in a ring, and spreads the
sum inside each host (Goyal et al., arXiv:1706.02677, section 4).

Additions take no time here: they are a part of the bandwidth, where a measured one is used. The formulas are exact
where ranks and ranks per host are powers of two; otherwise some ranks may start a little earlier than they assume.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

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
