"""The cards of attack and defence: distances of updates, updates that are no numbers, and epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core.words import capital, count, numbered, percent, quantity
from workshop.report.cards import Card, Part, about, figure, line, tiles, words
from workshop.report.figures.curves import curve
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.federated.report import figures

ABOUT_DISTANCES = (
    "How far each institution's update lies from the others': the median of its distances from them. The number is the "
    "institution's."
)
UNKNOWN = " Who is poisoned is told when the run has ended: who do you think it is?"
ABOUT_EPSILON = (
    "Noise hides from whoever has the shared model whether an institution took part. Any conclusion of that kind may "
    "be e^epsilon times as sure with the model as without it, but for a chance of delta: small is good, and every "
    "round adds to it."
)
COVERED = (
    "Epsilon is about the shared model. For the lesson, accuracies, losses and distances on this page have no noise, "
    "and the noise comes from the run's seed, so that a run can be repeated: a real federation must do neither."
)


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
    ends = ("distance", "epsilon", "clipped", "dropped")
    totals = [(name, total) for name, total in sorted(snapshot.totals.items()) if name.endswith(ends)]
    return totals, [snapshot.run.metrics.get(name) for name in ("attackers", "dropped", "skipped")]


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
    params = snapshot.run.params
    if params.get("privacy") != "institutions" or "clipped" not in snapshot.totals:
        return []
    facts = {"noise": f"{params.get('noise'):g} × clip", "clip": f"{params.get('clip'):g}"}
    if clipped := snapshot.series("clipped"):
        facts["updates clipped, last round"] = percent(clipped[0].means[-1])
    parts: list[Part] = [about(ABOUT_EPSILON)]
    if epsilons := snapshot.series("epsilon"):
        facts = {"epsilon so far": quantity(epsilons[0].means[-1]), "delta": quantity(params["delta"]), **facts}
        chart = curve(epsilons, began=snapshot.began, height=260)
        chart.update_layout(xaxis_title_text="round", yaxis_rangemode="tozero")
        parts.append(figure(chart))
    else:
        parts.append(words(line("Without noise there is no epsilon: nothing is promised.")))
    parts.insert(1, tiles([{"label": label, "value": value} for label, value in facts.items()]))
    return [Card("epsilon", "What noise promises", (*parts, about(COVERED)), half=True)]


PANELS = (
    Panel("guarding", protection, _version, "learning", comparison=protection, metrics=("epsilon", "clipped", "rule")),
)
