"""What a federation shows of attack and defence, live by round: whose updates lie far from the others', what was
dropped, what was clipped, and what noise promises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core.words import capital, count, numbered, percent
from workshop.report.cards import Card, Part, figure, line, table, tiles, words
from workshop.report.figures.curves import curve
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.guard_figures import distances

# Metrics that the cards here tell.
TOLD_HERE = frozenset(("epsilon", "clipped", "rule"))
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


def made_of(snapshot: Snapshot) -> Any:
    told = {
        name: snapshot.totals[name]
        for name in ("epsilon", "clipped", "dropped", *_distances(snapshot))
        if name in snapshot.totals
    }
    return (
        told,
        snapshot.run.metrics.get("attackers"),
        snapshot.run.metrics.get("dropped"),
        snapshot.run.metrics.get("skipped"),
    )


def guarding(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs of which no institution's update was looked at, or hidden by noise."""
    return [*_far(snapshot), *_dropped(snapshot), *_private(snapshot)]


def _distances(snapshot: Snapshot) -> dict[str, int]:
    """The events of institutions' distances, and whose they are."""
    institutions = snapshot.metric("institutions", list) or []
    return {f"institution {one} distance": one for one in range(1, len(institutions) + 1)}


def _far(snapshot: Snapshot) -> list[Card]:
    names = _distances(snapshot)
    found: dict[tuple[int, int], float] = {}
    for event in snapshot.store.events(snapshot.run.id, names, rank=0) if names.keys() & snapshot.totals.keys() else ():
        if event.step is not None:
            found[names[event.name], event.step] = event.value
    if not found:
        return []
    rounds = sorted({number for _, number in found})
    told = {one: [found.get((one, number), math.nan) for number in rounds] for one in sorted({one for one, _ in found})}
    poisoned = [one for one in snapshot.metric("attackers", list) or [] if isinstance(one, int)]
    about = ABOUT_DISTANCES
    if not poisoned and snapshot.run.params.get("attack") not in (None, "none") and not snapshot.run.ended:
        about += UNKNOWN
    said = [line(about, tone="about")]
    if poisoned:
        said.append(line(f"{capital(numbered('institution', poisoned))}.", "Poisoned"))
    return [
        Card(
            "distances",
            "Who lies far from the others",
            (words(*said), figure(distances(rounds, told, poisoned))),
            half=True,
        )
    ]


def _dropped(snapshot: Snapshot) -> list[Card]:
    """Updates that were no numbers, as soon as they are known."""
    dropped = [one for one in snapshot.metric("dropped", list) or [] if isinstance(one, Mapping)]
    if not dropped:
        return []
    rounds: dict[int, list[int]] = {}
    for one in dropped:
        rounds.setdefault(one["institution"], []).append(one["round"])
    said = [
        line(f"{capital(numbered('institution', [one]))}: {numbered('round', numbers)}.", "Dropped")
        for one, numbers in sorted(rounds.items())
    ]
    if skipped := snapshot.metric("skipped", list):
        said.append(line(f"In {count(len(skipped), 'round')} too few were left to go on with.", "Skipped"))
    about = line("What these institutions made was no number; the others went on without it.", tone="about")
    return [Card("dropped", "Updates that are no numbers", (words(about, *said),), half=True)]


def _private(snapshot: Snapshot) -> list[Card]:
    params, kind = snapshot.run.params, snapshot.run.params.get("privacy")
    if kind not in ABOUT_EPSILON or "clipped" not in snapshot.totals:
        return []
    shown = [
        {"label": "noise", "value": f"{params.get('noise'):g} x clip"},
        {"label": "clip", "value": f"{params.get('clip'):g}"},
    ]
    what = "updates clipped" if kind == "institutions" else "gradients clipped"
    if clipped := snapshot.series("clipped"):
        shown.append({"label": f"{what}, last round", "value": percent(clipped[0].means[-1])})
    parts: list[Part] = [words(line(ABOUT_EPSILON[kind] + SURER, tone="about"))]
    told = snapshot.series("epsilon")
    if told:
        delta = {"label": "delta", "value": f"{params.get('delta'):g}"}
        newest = {"label": "epsilon so far", "value": f"{told[0].means[-1]:.3g}"}
        drawn = curve(told, began=snapshot.began, height=260)
        drawn.update_layout(xaxis_title_text="round", yaxis_rangemode="tozero")
        parts += [tiles([newest, delta, *shown]), figure(drawn), *_each(snapshot)]
    else:
        parts += [tiles(shown), words(line("Without noise there is no epsilon: nothing is promised."))]
    return [Card("epsilon", "What noise promises", (*parts, words(line(COVERED, tone="about"))), half=True)]


def _each(snapshot: Snapshot) -> list[Part]:
    """Epsilon of each institution, where they have their own, at the end."""
    told = [one.get("epsilon") for one in snapshot.metric("institutions", list) or [] if isinstance(one, Mapping)]
    if not told or len(told) > WRITTEN or not all(isinstance(one, float) for one in told):
        return []
    rows = [[str(number), f"{one:.3g}"] for number, one in enumerate(told, 1)]
    return [words(line(EACH, tone="about")), table(["Institution", "Epsilon"], rows)]
