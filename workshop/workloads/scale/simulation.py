"""A discrete simulation of repeated steps: each message is an event, and each rank sends and receives one at a time.

It tells more than the formulas of `exchange`: a rank that has its sum early begins its next step early, so that
exchanges of neighbouring steps overlap a little. It takes longer with many ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import Algorithm, Network, NetworkLink
from workshop.workloads.scale.transfers import Transfer, rounds

Floats = NDArray[np.float64]


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
