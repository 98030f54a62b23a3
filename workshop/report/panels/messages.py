"""A panel on the messages between every two ranks, for runs that counted them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import MESSAGES
from workshop.report.analysis import messages as analysis
from workshop.report.analysis.messages import Matrix
from workshop.report.cards import Card, Part, figure, line, table
from workshop.report.cards import words as text
from workshop.report.figures.heatmap import heatmap
from workshop.report.figures.points import Point
from workshop.report.snapshot import Snapshot

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
        sent = analysis.total(counted, kind, "bytes")
        if sent.any():
            card_parts += [
                text(line(f"{title}, in kB:")),
                figure(_matrix_figure(sent, [f"rank {rank}" for rank in range(len(sent))])),
            ]
    names, crossing = analysis.between_hosts(analysis.total(counted, "inside", "bytes"), hosts)
    if len(names) > 1 and crossing.any():
        card_parts += [text(line(f"{TITLES['inside']} by host, in kB:")), figure(_matrix_figure(crossing, names))]
    return [*card_parts, _by_activity(counted)]


def sentences(counted: Mapping[str, Any]) -> list[str]:
    """Sentences on the pattern of the messages and on their bytes, or on the reason why there are no counts."""
    if counted["obstacle"]:
        return [f"There are no counts: {counted['obstacle']}. Open MPI does."]
    lines = []
    for kind, title in TITLES.items():
        sent = analysis.total(counted, kind, "bytes")
        number = int(analysis.total(counted, kind, "messages").sum())
        if number:
            remark = f"; the pattern is {pattern}" if (pattern := analysis.pattern(sent)) else ""
            lines.append(f"{title}: {words.count(number, 'message')} with {words.size(int(sent.sum()))}{remark}.")
    lines += _formulas(counted)
    return lines or ["No rank sent a message to another one."]


def _formulas(counted: Mapping[str, Any]) -> list[str]:
    """The formula of an all-reduce for the activity with the most bytes in which all ranks gave equally much."""
    activities = [{**counted, "activities": [activity]} for activity in counted["activities"]]
    for activity in sorted(activities, key=lambda counts: -int(analysis.total(counts, "inside", "bytes").sum())):
        inside, buffers = (analysis.total(activity, kind, "bytes") for kind in ("inside", "buffers"))
        if (measured := analysis.ratio(inside, buffers)) is not None:
            return [f"In the activity “{activity['activities'][0]['name']}”: {analysis.formula(measured, len(inside))}"]
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
    rows = []
    for activity in counted["activities"]:
        by_kind = [analysis.total({**counted, "activities": [activity]}, kind, "bytes") for kind in TITLES]
        number = sum(int(analysis.total({**counted, "activities": [activity]}, k, "messages").sum()) for k in TITLES)
        if number:
            rows.append([activity["name"], *(words.size(int(sent.sum())) for sent in by_kind), words.thousands(number)])
    return table(["Activity", "By the program", "Inside collective calls", "Messages"], rows)
