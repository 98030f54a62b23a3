"""A discrete simulation of an all-reduce: each message is an event, and each rank sends and receives one at a time."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import Link, Network
from workshop.workloads.scale.transfers import Rounds


def simulated_seconds(chunks: int, rounds: Rounds, ranks: int, size: float, network: Network) -> float:
    """The time until the last rank has its last message [s]."""

    def link(source: int, destination: int) -> Link:
        members = network.per_host or ranks
        return network.inside if source // members == destination // members else network.between

    ready = [0.0] * ranks  # when a rank may begin its next round
    sending: dict[int, float] = defaultdict(float)  # until when a rank's outgoing link is busy
    receiving: dict[int, float] = defaultdict(float)
    for messages in rounds:
        arrivals = []
        for order, message in enumerate(messages):
            path = link(message.source, message.destination)
            busy = size * (message.end - message.begin) / chunks / path.bandwidth
            begin = max(ready[message.source], sending[message.source])
            sending[message.source] = begin + busy
            arrivals.append((begin + path.latency, order, busy, message.destination))
        for first_byte, _, busy, rank in sorted(arrivals):
            receiving[rank] = max(first_byte, receiving[rank]) + busy
            ready[rank] = max(ready[rank], receiving[rank])
    return max(ready)


def carry_out(chunks: int, rounds: Rounds, arrays: list[NDArray[np.float64]]) -> None:
    """Send the messages among arrays, in place."""
    edges = [len(arrays[0]) * number // chunks for number in range(chunks + 1)]
    for messages in rounds:
        sent = [arrays[step.source][edges[step.begin] : edges[step.end]].copy() for step in messages]
        for step, values in zip(messages, sent, strict=True):
            place = arrays[step.destination][edges[step.begin] : edges[step.end]]
            place[:] = place + values if step.add else values
