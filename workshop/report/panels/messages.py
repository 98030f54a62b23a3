"""A panel on the messages between every two ranks, for runs that counted them, with the pattern that they make."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core import words
from workshop.extension import MESSAGES
from workshop.report.cards import Card, Part, figure, line, table
from workshop.report.cards import paragraph as text
from workshop.report.figures.heatmap import heatmap
from workshop.report.figures.marks import Point
from workshop.report.snapshot import Snapshot

Matrix = NDArray[np.int64]  # (ranks, ranks), by sender and receiver
CLOSE = 0.02  # relative difference within which a measured ratio fits its formula
EQUAL = 0.1  # relative difference of buffers within which all ranks gave equally much: single calls are broadcasts
FEW_BYTES = 0.01  # of the most bytes between two ranks: fewer are not part of a pattern


def total(counted: Mapping[str, Any], kind: str, unit: str) -> Matrix:
    """The bytes or messages (`unit`) of a kind over all activities, see `workshop.engine.message_counts.document`."""
    ranks = len(counted["hosts"])
    matrices = [np.array(activity[kind][unit], np.int64) for activity in counted["activities"]]
    return sum(matrices, np.zeros((ranks, ranks), np.int64))


def _sum(counted: Mapping[str, Any], kind: str, unit: str) -> int:
    return int(total(counted, kind, unit).sum())


def pattern(sent: Matrix) -> str:
    """A pattern that fits which ranks sent much to which (Thakur, Rabenseifner and Gropp, Optimization of collective
    communication operations in MPICH, 2005), in half a sentence; "" where none does."""
    ranks = len(sent)
    edges = {(int(sender), int(receiver)) for sender, receiver in np.argwhere(sent > FEW_BYTES * sent.max())}
    ring = {(rank, (rank + 1) % ranks) for rank in range(ranks)}
    back = {(receiver, sender) for sender, receiver in ring}
    doubling = {(rank, rank ^ 1 << bit) for rank in range(ranks) for bit in range(ranks.bit_length() - 1)}
    tree = {(rank & (rank - 1), rank) for rank in range(1, ranks)}
    up = {(child, parent) for parent, child in tree}
    everybody = {(sender, receiver) for sender in range(ranks) for receiver in range(ranks) if sender != receiver}
    if not edges or ranks < 3:
        return ""
    if edges in (ring, back):
        return "a ring: each rank sends to its neighbour on one side"
    if edges == ring | back:
        return "neighbours: each rank sends to both sides"
    if ranks & (ranks - 1) == 0 and edges == doubling:
        return "recursive doubling or halving: each rank has a partner at a distance of 1, 2, 4 and so on"
    if edges in (tree, up, tree | up):
        return "a binomial tree with rank 0 on top"
    for centre in range(ranks):
        star = {edge for edge in everybody if centre in edge}
        if edges <= star and len(edges) >= ranks - 1:
            return f"a star: rank {centre} talks to each other rank"
    return "each rank sends to each other one" if edges == everybody else ""


def between_hosts(sent: Matrix, hosts: Sequence[str]) -> tuple[list[str], Matrix]:
    """The hosts, and what the ranks of each sent to those of each, (hosts, hosts)."""
    names = list(dict.fromkeys(hosts))
    places = np.array([[host == name for host in hosts] for name in names], np.int64)
    return names, places @ sent @ places.T


def ratio(inside: Matrix, buffers: Matrix) -> float | None:
    """The bytes that a rank sent inside collectives, divided by the bytes of its buffers, as the mean over the ranks.
    Open MPI counts a buffer for each rank that it goes to. None unless all ranks gave equally much to all others, as
    they do in an all-reduce."""
    others = buffers[~np.eye(len(buffers), dtype=bool)]
    if not others.size or others.min() <= (1 - EQUAL) * others.max():
        return None
    return float((inside.sum(axis=1) / buffers.max(axis=1)).mean())


def formula(measured: float, ranks: int) -> str:
    """A sentence that compares the `measured` ratio of sent bytes to the buffers' bytes with two all-reduces: a
    reduce-scatter and an all-gather send 2 (n - 1) / n times the buffer, which is the least (Patarasuk and Yuan, 2009),
    and recursive doubling sends it log2 n times."""
    least, doubling = 2 * (ranks - 1) / ranks, math.log2(ranks)
    fit = next((f"; {name} fits" for name, expected in (("the first", least), ("the second", doubling))
                if abs(measured - expected) <= CLOSE * expected), "")  # fmt: skip
    return (
        f"A rank sent {measured:.2f} times the bytes of its buffers. An all-reduce on {ranks} ranks sends 2 x "
        f"{ranks - 1} / {ranks} = {least:.2f} times as many in a ring or by halves, and {doubling:.2f} times by "
        f"recursive doubling{fit}."
    )


ABOUT = (
    "Open MPI counted them. They include messages of the platform, by which ranks agree on a stop and collect times."
)
TITLES = {"program": "Messages of the program", "inside": "Messages inside collective calls"}


def messages(snapshot: Snapshot) -> list[Card]:
    """Who sent how much to whom, as matrices of ranks and of hosts, with the pattern that the messages make."""
    if MESSAGES not in snapshot.artifacts:
        return []
    return [Card("messages", "Who sent how much to whom", tuple(parts(json.loads(snapshot.read(MESSAGES)))))]


def parts(counted: Mapping[str, Any]) -> list[Part]:
    """The parts of the card, from the document of `workshop.engine.message_counts`."""
    if counted["obstacle"]:
        return [text(line(sentences(counted)[0], tone="note"))]
    hosts = counted["hosts"]
    card_parts: list[Part] = [text(*(line(sentence) for sentence in sentences(counted)), line(ABOUT, tone="about"))]
    for kind, title in TITLES.items():
        sent = total(counted, kind, "bytes")
        if sent.any():
            card_parts += [
                text(line(f"{title}, in kB:")),
                figure(_matrix_figure(sent, [f"rank {rank}" for rank in range(len(sent))])),
            ]
    names, crossing = between_hosts(total(counted, "inside", "bytes"), hosts)
    if len(names) > 1 and crossing.any():
        card_parts += [text(line(f"{TITLES['inside']} by host, in kB:")), figure(_matrix_figure(crossing, names))]
    return [*card_parts, _by_activity(counted)]


def sentences(counted: Mapping[str, Any]) -> list[str]:
    """Sentences on the pattern of the messages and on their bytes, or on the reason why there are no counts."""
    if counted["obstacle"]:
        return [f"There are no counts: {counted['obstacle']}. Open MPI does."]
    lines = []
    for kind, title in TITLES.items():
        sent = total(counted, kind, "bytes")
        if number := _sum(counted, kind, "messages"):
            remark = f"; the pattern is {shape}" if (shape := pattern(sent)) else ""
            lines.append(f"{title}: {words.count(number, 'message')} with {words.size(int(sent.sum()))}{remark}.")
    lines += _formulas(counted)
    return lines or ["No rank sent a message to another one."]


def _formulas(counted: Mapping[str, Any]) -> list[str]:
    """The formula of an all-reduce for the activity with the most bytes in which all ranks gave equally much."""
    activities = [{**counted, "activities": [activity]} for activity in counted["activities"]]
    for activity in sorted(activities, key=lambda counts: -_sum(counts, "inside", "bytes")):
        inside, buffers = (total(activity, kind, "bytes") for kind in ("inside", "buffers"))
        if (measured := ratio(inside, buffers)) is not None:
            return [f"In the activity “{activity['activities'][0]['name']}”: {formula(measured, len(inside))}"]
    return []


def _matrix_figure(sent: Matrix, names: Sequence[str]) -> Any:
    points = {
        (receiver, sender): Point(f"{sender} to {receiver}", (sent[down][across] / 1e3,))
        for down, sender in enumerate(names)
        for across, receiver in enumerate(names)
        if sent[down][across]
    }
    return heatmap(names, list(reversed(names)), points, ("to", "from"), "kB", framed=False)


def _by_activity(counted: Mapping[str, Any]) -> Part:
    rows = [
        [activity["name"], *(words.size(_sum(alone, kind, "bytes")) for kind in TITLES), words.quantity(number)]
        for activity in counted["activities"]
        if (alone := {**counted, "activities": [activity]})
        and (number := sum(_sum(alone, kind, "messages") for kind in TITLES))
    ]
    return table(["Activity", "By the program", "Inside collective calls", "Messages"], rows)
