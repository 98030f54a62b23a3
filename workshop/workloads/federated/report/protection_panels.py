"""What a federation shows of attack and defence, and of what left its institutions: whose updates lie far from the
others', what noise promises, kinds of messages and their bytes, what could be seen of masked updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core.words import capital, count, listed, numbered, percent, size, thousands
from workshop.extension import Panel
from workshop.report.cards import Card, Part, figure, line, table, tiles, words
from workshop.report.figures.curves import curve
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.report import figures
from workshop.workloads.federated.report.transmission_findings import saving, sent

ABOUT_DISTANCES = (
    "How far each institution's update lies from the others': the median of its distances from them. The number is the "
    "institution's."
)
UNKNOWN = " Who is poisoned is told when the run has ended: who do you think it is?"
ABOUT_EPSILON = {
    "institutions": "Noise is there to hide from whoever has the shared model whether an institution took part.",
    "images": "Noise is there to hide from whoever has the shared model whether an image was among an institution's.",
}
SURER = (
    " Any conclusion of that kind may be e^epsilon times as sure with the model as without it, but for a chance of "
    "delta: small is good, and every round adds to it."
)
COVERED = (
    "Epsilon is about the shared model. Accuracies, losses and distances on this page are told without noise, for the "
    "lesson, and noise comes from the run's seed so that it can be repeated: in earnest neither would be so."
)
EACH = "By institution: in each step of few images each one is more likely to be read."
WRITTEN = 24  # institutions up to which each one's epsilon is listed
ABOUT_SECURE = {
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
# What each kind of message holds, by its name in `communication.messages`.
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


def by_round(snapshot: Snapshot, institutions: int, what: str) -> dict[tuple[int, int], float]:
    """What was told of each institution (counted from 1) in each round: (institution, round) -> value."""
    names = {f"institution {one} {what}": one for one in range(1, institutions + 1)}
    if not names.keys() & snapshot.totals.keys():
        return {}
    events = snapshot.store.events(snapshot.run.id, names, rank=0)
    return {(names[event.name], event.step): event.value for event in events if event.step is not None}


def protection(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs of which no institution's update was looked at, or hidden by noise."""
    return [*_far(snapshot), *_dropped(snapshot), *_private(snapshot)]


def _made_of(snapshot: Snapshot) -> Any:
    told = [(name, total) for name, total in sorted(snapshot.totals.items()) if name.endswith(("distance", *_TOLD))]
    return told, [snapshot.run.metrics.get(name) for name in ("attackers", "dropped", "skipped")]


_TOLD = ("epsilon", "clipped", "dropped")


def _far(snapshot: Snapshot) -> list[Card]:
    found = by_round(snapshot, len(snapshot.metric("institutions", list) or []), "distance")
    if not found:
        return []
    rounds, whose = (sorted(set(keys)) for keys in ((key[1] for key in found), (key[0] for key in found)))
    told = {one: [found.get((one, number), math.nan) for number in rounds] for one in whose}
    poisoned = [one for one in snapshot.metric("attackers", list) or [] if isinstance(one, int)]
    attack = snapshot.run.params.get("attack") not in (None, "none")
    said = [line(ABOUT_DISTANCES + UNKNOWN * (attack and not poisoned and not snapshot.run.ended), tone="about")]
    if poisoned:
        said.append(line(f"{capital(numbered('institution', poisoned))}.", "Poisoned"))
    parts = words(*said), figure(figures.distances(rounds, told, poisoned))
    return [Card("distances", "Who lies far from the others", parts, half=True)]


def _dropped(snapshot: Snapshot) -> list[Card]:
    """Updates that were no numbers, as soon as they are known."""
    rounds: dict[int, list[int]] = {}
    for one in snapshot.metric("dropped", list) or []:
        if isinstance(one, Mapping):
            rounds.setdefault(one["institution"], []).append(one["round"])
    if not rounds:
        return []
    said = [line("What these institutions made was no number; the others went on without it.", tone="about")]
    for one, numbers in sorted(rounds.items()):
        said.append(line(f"{capital(numbered('institution', [one]))}: {numbered('round', numbers)}.", "Dropped"))
    if skipped := snapshot.metric("skipped", list):
        said.append(line(f"In {count(len(skipped), 'round')} too few were left to go on with.", "Skipped"))
    return [Card("dropped", "Updates that are no numbers", (words(*said),), half=True)]


def _private(snapshot: Snapshot) -> list[Card]:
    params, kind = snapshot.run.params, snapshot.run.params.get("privacy")
    if kind not in ABOUT_EPSILON or "clipped" not in snapshot.totals:
        return []
    shown = {"noise": f"{params.get('noise'):g} x clip", "clip": f"{params.get('clip'):g}"}
    if clipped := snapshot.series("clipped"):
        what = "updates" if kind == "institutions" else "gradients"
        shown[f"{what} clipped, last round"] = percent(clipped[0].means[-1])
    parts: list[Part] = [words(line(ABOUT_EPSILON[kind] + SURER, tone="about"))]
    if told := snapshot.series("epsilon"):
        shown = {"epsilon so far": f"{told[0].means[-1]:.3g}", "delta": f"{params.get('delta'):g}", **shown}
        drawn = curve(told, began=snapshot.began, height=260)
        drawn.update_layout(xaxis_title_text="round", yaxis_rangemode="tozero")
        parts += [_tiles(shown), figure(drawn), *_each(snapshot)]
    else:
        parts += [_tiles(shown), words(line("Without noise there is no epsilon: nothing is promised."))]
    return [Card("epsilon", "What noise promises", (*parts, words(line(COVERED, tone="about"))), half=True)]


def _tiles(shown: Mapping[str, str]) -> Part:
    return tiles([{"label": label, "value": value} for label, value in shown.items()])


def _each(snapshot: Snapshot) -> list[Part]:
    """Epsilon of each institution, where they have their own, at the end."""
    told = [one.get("epsilon") for one in snapshot.metric("institutions", list) or [] if isinstance(one, Mapping)]
    if not told or len(told) > WRITTEN or not all(isinstance(one, float) for one in told):
        return []
    rows = [[str(number), f"{one:.3g}"] for number, one in enumerate(told, 1)]
    return [words(line(EACH, tone="about")), table(["Institution", "Epsilon"], rows)]


def transmission(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs in which no institution has sent an update yet."""
    told = sent(snapshot.run.metrics)
    return [] if told is None else [_kinds(told), *_seen(told)]


def _kinds(told: Mapping[str, Any]) -> Card:
    about = ABOUT_SECURE.get(str(told.get("secure")), "") + COMPRESSED.get(str(told.get("compression")), "")
    shown = {
        "sent for updates": size(told["bytes_updates"]),
        "plain updates take": size(told["bytes_plain"]),
        "bytes against plain": saving(told),
    }
    parts: list[Part] = [words(line(about, tone="about")), _tiles(shown)]
    rows = [
        [way, str(one.get("kind")), HOLDS.get(str(one.get("kind")), ""), thousands(one["messages"]), size(one["bytes"])]
        for way in ("up", "down")
        for one in told.get(way) or []
        if isinstance(one, Mapping) and isinstance(one.get("messages"), int) and isinstance(one.get("bytes"), int)
    ]
    if rows:
        parts.append(table(["", "Message", "What it holds", "Messages", "Bytes"], rows))
    silent = [
        f"institution {one} in {count(number, 'round')}"
        for one, number in enumerate(told.get("silent") or [], 1)
        if number
    ]
    if silent:
        parts.append(words(line(f"{capital(listed(silent))}.", "Silent")))
    return Card("sending", "What left the institutions", tuple(parts))


def _seen(told: Mapping[str, Any]) -> list[Card]:
    looked = told.get("seen")
    if not isinstance(looked, Mapping) or not looked.get("message") or not looked.get("sum"):
        return []
    cancelled = not told.get("uncancelled")
    about = words(line(ABOUT_SEEN + (CANCELLED if cancelled else LEFT), tone="about"))
    drawn = figure(figures.seen(looked["message"], looked["sum"], cancelled))
    return [Card("seen", f"What the aggregator saw in round {looked.get('round')}", (about, drawn), half=True)]


PANELS = (
    Panel("guarding", protection, _made_of, "learning", beside=protection, told=("epsilon", "clipped", "rule")),
    Panel(
        "sending",
        transmission,
        lambda snapshot: (snapshot.run.metrics.get("sending"), snapshot.run.status),
        "learning",
        beside=transmission,
    ),
)
