"""The cards of attack, defence and transmission: distances of updates, epsilon, kinds of messages and their bytes,
masked updates as the aggregator sees them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core.words import capital, count, listed, numbered, percent, size, thousands
from workshop.extension import Panel
from workshop.report.cards import Card, Part, about, figure, line, table, tiles, words
from workshop.report.figures.curves import curve
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.report import figures
from workshop.workloads.federated.report.findings import saving, sent

ABOUT_DISTANCES = (
    "How far each institution's update lies from the others': the median of its distances from them. The number is the "
    "institution's."
)
UNKNOWN = " Who is poisoned is told when the run has ended: who do you think it is?"
ABOUT_EPSILON = {
    "institutions": "Noise hides from whoever has the shared model whether an institution took part.",
    "images": "Noise hides from whoever has the shared model whether an image was among an institution's.",
}
SURER = (
    " Any conclusion of that kind may be e^epsilon times as sure with the model as without it, but for a chance of "
    "delta: small is good, and every round adds to it."
)
COVERED = (
    "Epsilon is about the shared model. For the lesson, accuracies, losses and distances on this page have no noise, "
    "and the noise comes from the run's seed, so that a run can be repeated: a real federation must do neither."
)
EACH = "By institution: the fewer images it has, the more likely each one is read in a step."
WRITTEN = 24  # the largest number of institutions whose epsilons are listed
ABOUT_SECURE = {
    "off": "The aggregator can read every update, and can try to reconstruct images from it.",
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
MASKS_LEFT = " The sum is spread as widely: masks are left in it, and nothing can be read from it."
# The content of each kind of message, by its name in `communication.messages`.
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
    """Return an event of each institution (counted from 1) in each round: (institution, round) -> value."""
    names = {f"institution {institution} {what}": institution for institution in range(1, institutions + 1)}
    if not names.keys() & snapshot.totals.keys():
        return {}
    events = snapshot.store.events(snapshot.run.id, names, rank=0)
    past = (event for event in events if event.time <= snapshot.until)
    return {(names[event.name], event.step): event.value for event in past if event.step is not None}


def protection(snapshot: Snapshot) -> list[Card]:
    """Return the cards on attack and defence; none where no update was compared, dropped or hidden by noise."""
    return [*_far(snapshot), *_dropped(snapshot), *_private(snapshot)]


def _version(snapshot: Snapshot) -> Any:
    totals = [(name, total) for name, total in sorted(snapshot.totals.items()) if name.endswith(("distance", *_EVENTS))]
    return totals, [snapshot.run.metrics.get(name) for name in ("attackers", "dropped", "skipped")]


_EVENTS = ("epsilon", "clipped", "dropped")


def _far(snapshot: Snapshot) -> list[Card]:
    distances = by_round(snapshot, len(snapshot.metric("institutions", list) or []), "distance")
    if not distances:
        return []
    institutions, rounds = (sorted(set(keys)) for keys in zip(*distances, strict=True))
    by_institution = {
        institution: [distances.get((institution, number), math.nan) for number in rounds]
        for institution in institutions
    }
    poisoned = [institution for institution in snapshot.metric("attackers", list) or [] if isinstance(institution, int)]
    attack = snapshot.run.params.get("attack") not in (None, "none")
    notes = [line(ABOUT_DISTANCES + UNKNOWN * (attack and not poisoned and not snapshot.run.ended), tone="about")]
    if poisoned:
        notes.append(line(f"{capital(numbered('institution', poisoned))}.", "Poisoned"))
    parts = words(*notes), figure(figures.distances(rounds, by_institution, poisoned))
    return [Card("distances", "Who lies far from the others", parts, half=True)]


def _dropped(snapshot: Snapshot) -> list[Card]:
    """Return a card with the updates that were not numbers so far."""
    rounds: dict[int, list[int]] = {}
    for update in snapshot.metric("dropped", list) or []:
        if isinstance(update, Mapping):
            rounds.setdefault(update["institution"], []).append(update["round"])
    if not rounds:
        return []
    notes = [line("What these institutions made was no number; the others went on without it.", tone="about")]
    for institution, numbers in sorted(rounds.items()):
        notes.append(
            line(f"{capital(numbered('institution', [institution]))}: {numbered('round', numbers)}.", "Dropped")
        )
    if skipped := snapshot.metric("skipped", list):
        notes.append(line(f"In {count(len(skipped), 'round')} too few were left to go on with.", "Skipped"))
    return [Card("dropped", "Updates that are no numbers", (words(*notes),), half=True)]


def _private(snapshot: Snapshot) -> list[Card]:
    params, kind = snapshot.run.params, snapshot.run.params.get("privacy")
    if kind not in ABOUT_EPSILON or "clipped" not in snapshot.totals:
        return []
    facts = {"noise": f"{params.get('noise'):g} x clip", "clip": f"{params.get('clip'):g}"}
    if clipped := snapshot.series("clipped"):
        vectors = "updates" if kind == "institutions" else "gradients"
        facts[f"{vectors} clipped, last round"] = percent(clipped[0].means[-1])
    parts: list[Part] = [about(ABOUT_EPSILON[kind] + SURER)]
    if epsilons := snapshot.series("epsilon"):
        facts = {"epsilon so far": f"{epsilons[0].means[-1]:.3g}", "delta": f"{params.get('delta'):g}", **facts}
        chart = curve(epsilons, began=snapshot.began, height=260)
        chart.update_layout(xaxis_title_text="round", yaxis_rangemode="tozero")
        parts += [_tiles(facts), figure(chart), *_each(snapshot)]
    else:
        parts += [_tiles(facts), words(line("Without noise there is no epsilon: nothing is promised."))]
    return [Card("epsilon", "What noise promises", (*parts, about(COVERED)), half=True)]


def _tiles(facts: Mapping[str, str]) -> Part:
    return tiles([{"label": label, "value": value} for label, value in facts.items()])


def _each(snapshot: Snapshot) -> list[Part]:
    """Return a table with each institution's epsilon, where they differ and the run has ended."""
    epsilons = [
        institution.get("epsilon")
        for institution in snapshot.metric("institutions", list) or []
        if isinstance(institution, Mapping)
    ]
    if not epsilons or len(epsilons) > WRITTEN or not all(isinstance(epsilon, float) for epsilon in epsilons):
        return []
    rows = [[str(number), f"{epsilon:.3g}"] for number, epsilon in enumerate(epsilons, 1)]
    return [about(EACH), table(["Institution", "Epsilon"], rows)]


def transmission(snapshot: Snapshot) -> list[Card]:
    """Return the cards on what was sent; none before the first update."""
    sending = sent(snapshot.run.metrics)
    return [] if sending is None else [_kinds(sending), *_masked_words(sending)]


def _kinds(sending: Mapping[str, Any]) -> Card:
    text = ABOUT_SECURE.get(str(sending.get("secure")), "") + COMPRESSED.get(str(sending.get("compression")), "")
    facts = {
        "sent for updates": size(sending["bytes_updates"]),
        "plain updates take": size(sending["bytes_plain"]),
        "bytes against plain": saving(sending),
    }
    parts: list[Part] = [about(text), _tiles(facts)]
    rows = [
        [
            way,
            str(entry.get("kind")),
            HOLDS.get(str(entry.get("kind")), ""),
            thousands(entry["messages"]),
            size(entry["bytes"]),
        ]
        for way in ("up", "down")
        for entry in sending.get(way) or []
        if isinstance(entry, Mapping) and isinstance(entry.get("messages"), int) and isinstance(entry.get("bytes"), int)
    ]
    if rows:
        parts.append(table(["", "Message", "What it holds", "Messages", "Bytes"], rows))
    silent = [
        f"institution {institution} in {count(number, 'round')}"
        for institution, number in enumerate(sending.get("silent") or [], 1)
        if number
    ]
    if silent:
        parts.append(words(line(f"{capital(listed(silent))}.", "Silent")))
    return Card("sending", "What left the institutions", tuple(parts))


def _masked_words(sending: Mapping[str, Any]) -> list[Card]:
    histograms = sending.get("seen")
    if not isinstance(histograms, Mapping) or not histograms.get("message") or not histograms.get("sum"):
        return []
    cancelled = not sending.get("uncancelled")
    text = about(ABOUT_SEEN + (CANCELLED if cancelled else MASKS_LEFT))
    chart = figure(figures.word_shares(histograms["message"], histograms["sum"], cancelled))
    return [Card("seen", f"What the aggregator saw in round {histograms.get('round')}", (text, chart), half=True)]


PANELS = (
    Panel("guarding", protection, _version, "learning", comparison=protection, metrics=("epsilon", "clipped", "rule")),
    Panel(
        "sending",
        transmission,
        lambda snapshot: (snapshot.run.metrics.get("sending"), snapshot.run.status),
        "learning",
        comparison=transmission,
    ),
)
