"""A discrete simulation of repeated steps: each message is an event, and each rank sends and receives one at a time.

It tells more than the formulas of `exchange`: a rank that has its sum early begins its next step early, so that
exchanges of neighbouring steps overlap a little. It takes longer with many ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import Algorithm, Network
from workshop.workloads.scale.transfers import rounds

Floats = NDArray[np.float64]


@dataclass
class Simulation:
    """Ranks with their clocks [s]. `sending` and `receiving`: until when the links of each rank are busy."""

    ranks: int
    network: Network
    algorithm: Algorithm = "ring"
    servers: int = 1
    sending: Floats = field(init=False)
    receiving: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sending, self.receiving = np.zeros(self.ranks), np.zeros(self.ranks)
        self._chunks, self._rounds = rounds(self.algorithm, self.ranks, self.network.per_host, self.servers)
        members = self.network.per_host or self.ranks
        near = [[step.source // members == step.destination // members for step in steps] for steps in self._rounds]
        inside, between = self.network.inside, self.network.between
        # For each round: sources, destinations, latencies, and seconds for each byte of the array.
        self._steps = [
            (
                [step.source for step in steps],
                [step.destination for step in steps],
                [(inside if is_near else between).latency for is_near in nears],
                [
                    (step.end - step.begin) / self._chunks / (inside if is_near else between).bandwidth
                    for step, is_near in zip(steps, nears, strict=True)
                ],
            )
            for steps, nears in zip(self._rounds, near, strict=True)
        ]

    def exchange(self, ready: Floats, size: float) -> Floats:
        """When each rank has the sum of `size` bytes, if it is ready for the exchange at these times."""
        now = ready.tolist()
        sending, receiving = self.sending.tolist(), self.receiving.tolist()
        for sources, destinations, latencies, per_byte in self._steps:
            arrivals = []
            for number, source in enumerate(sources):
                begin = max(now[source], sending[source])
                busy = size * per_byte[number]
                sending[source] = begin + busy
                arrivals.append((begin + latencies[number], number, busy))
            for first_byte, number, busy in sorted(arrivals):
                rank = destinations[number]
                receiving[rank] = max(first_byte, receiving[rank]) + busy
                now[rank] = max(now[rank], receiving[rank])
        self.sending, self.receiving = np.array(sending), np.array(receiving)
        return np.array(now)


def step_seconds(
    simulation: Simulation, compute: Floats, sizes: Sequence[float], forward: float, overlap: bool, before: Floats
) -> float:
    """The average time of repeated steps [s]. `compute`: seconds of each step and rank [steps, ranks]; `before`: what
    each rank does before it computes, such as reading its input [ranks]. `sizes`: bytes of the buckets in the order in
    which the backward pass, which begins after a share `forward` of compute, has them."""
    now, total = np.zeros(simulation.ranks), float(sum(sizes)) or 1.0
    warm_up, starts = len(compute) // 4, 0.0
    for number, seconds in enumerate(compute):
        if number == warm_up:
            starts = float(now.mean())
        begin = now + before
        done, share = begin + seconds, forward
        end = begin
        for size in sizes:
            share += (1 - forward) * size / total
            ready = begin + share * seconds if overlap else done
            end = simulation.exchange(np.maximum(end, ready), size)
        now = np.maximum(end, done)
    return (float(now.mean()) - starts) / (len(compute) - warm_up)
