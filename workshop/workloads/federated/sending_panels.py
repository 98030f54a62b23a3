"""What a federation shows of what left its institutions: kinds of messages and their bytes, who fell silent, and what
the aggregator could see of masked updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import capital, count, listed, size, thousands
from workshop.report.cards import Card, Part, figure, line, table, tiles, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.sending_figures import seen
from workshop.workloads.federated.sending_findings import saving, sent

ABOUT = {
    "off": "The aggregator can read every update, and look for what is behind it.",
    "masks": (
        "The aggregator can read no update: each is hidden by masks that pairs of institutions agreed on, and that "
        "cancel in the sum of all."
    ),
    "unequal": (
        "The aggregator can read no update. It weights them after they were masked, so that masks don't cancel in the "
        "sum, unless all weights are the same."
    ),
}
COMPRESSED = {
    "topk": " Of each only the largest values are sent; what is left out stays there, and is added to the next one.",
    "8bit": " Each value is sent in eight bits, rounded up or down by chance, so that it is right on average.",
}
ABOUT_SEEN = (
    "Words of 64 bits, read as whole numbers. Those of one masked update are spread over all that a word can be, as "
    "chance spreads them."
)
CANCELLED = " In the sum masks are gone: updates are small numbers, all in the middle."
LEFT = " The sum is spread as widely: masks are left in it, and nothing can be read from it."
# What each kind of message holds, by its name in `workshop.workloads.federated.messages`.
HOLDS = {
    "update": "what training has added to the shared model",
    "count": "how many images are behind an update",
    "score": "sums of losses and of right answers",
    "ready": "whether an update can be masked",
    "public key": "half of every secret that an institution makes with others",
    "public keys": "those of all, to everybody",
    "masked update": "an update and its weight, hidden",
    "missing": "who fell silent",
    "pair seed": "what a mask shared with a silent institution is made from",
    "codes": "an update's values in eight bits each",
    "scales": "what those are multiplied by, block by block",
    "values": "the largest values of an update",
    "places": "where they stand in it",
    "cut": "how many updates or gradients were clipped",
    "model": "the shared model",
}


def made_of(snapshot: Snapshot) -> Any:
    return snapshot.run.metrics.get("sending"), snapshot.run.status


def sending(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs in which no institution has sent an update yet."""
    told = sent(snapshot.run.metrics)
    if told is None:
        return []
    return [_kinds(told), *_seen(told)]


def _kinds(told: Mapping[str, Any]) -> Card:
    secure = str(told.get("secure"))
    about = ABOUT.get(secure, "") + COMPRESSED.get(str(told.get("compression")), "")
    shown = [
        {"label": "sent for updates", "value": size(told["bytes_updates"])},
        {"label": "plain updates take", "value": size(told["bytes_plain"])},
        {"label": "bytes against plain", "value": saving(told)},
    ]
    parts: list[Part] = [words(line(about, tone="about")), tiles(shown)]
    rows = [
        [way, str(one.get("kind")), HOLDS.get(str(one.get("kind")), ""), thousands(one["messages"]), size(one["bytes"])]
        for way in ("up", "down")
        for one in told.get(way) or []
        if isinstance(one, Mapping) and isinstance(one.get("messages"), int) and isinstance(one.get("bytes"), int)
    ]
    if rows:
        parts.append(table(["", "Message", "What it holds", "Messages", "Bytes"], rows))
    if silent := _silent(told.get("silent") or []):
        parts.append(words(line(silent, "Silent")))
    return Card("sending", "What left the institutions", tuple(parts))


def _silent(rounds: Sequence[int]) -> str:
    """Who fell silent, and how often."""
    whose = [f"institution {one} in {count(number, 'round')}" for one, number in enumerate(rounds, 1) if number]
    return f"{capital(listed(whose))}." if whose else ""


def _seen(told: Mapping[str, Any]) -> list[Card]:
    looked = told.get("seen")
    if not isinstance(looked, Mapping) or not looked.get("message") or not looked.get("sum"):
        return []
    cancelled = not told.get("uncancelled")
    about = ABOUT_SEEN + (CANCELLED if cancelled else LEFT)
    title = f"What the aggregator saw in round {looked.get('round')}"
    drawn = seen(looked["message"], looked["sum"], cancelled)
    return [Card("seen", title, (words(line(about, tone="about")), figure(drawn)), half=True)]
