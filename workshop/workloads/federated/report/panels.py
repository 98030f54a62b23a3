"""The cards of a federation, live by round: the ways of learning side by side, the partition of the images, each
institution's accuracies, and bytes.

The cards of attack and defence: distances of updates, updates that are no numbers, and epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.core.words import capital, count, numbered, percent, quantity, size
from workshop.report.analysis import findings
from workshop.report.cards import Card, Part, about, figure, line, paragraph, table, tiles
from workshop.report.figures.line import curve, overlay
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training import panels as training_panels
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


def _protection_version(snapshot: Snapshot) -> Any:
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
    parts = paragraph(*notes), figure(figures.distances(rounds, by_institution, poisoned))
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
    return [Card("dropped", "Updates that are no numbers", (paragraph(*notes),), half=True)]


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
        parts.append(paragraph(line("Without noise there is no epsilon: nothing is promised.")))
    parts.insert(1, tiles([{"label": label, "value": value} for label, value in facts.items()]))
    return [Card("epsilon", "What noise promises", (*parts, about(COVERED)), half=True)]


HELD_OUT, OWN_DATA = "held-out", "own"  # in the names of events, before the measure
# "Undisturbed" is without attack and defence, "undefended" with the attack alone.
NAMES = {
    "federated": "federated",
    "centralised": "pooled images",
    "alone": "each alone",
    "plain": "undisturbed",
    "undefended": "undefended",
}
SHORT = {**NAMES, "centralised": "pooled", "alone": "alone"}
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}
# Metrics that the cards here show.
SHOWN_METRICS = frozenset(("bytes_down", "bytes_up", "bytes_model", "bytes_of_images", "participants"))
# Cards that compare the ways by round: name -> title, explanation, event.
SIDE_BY_SIDE = {
    "ways": (
        "On held-out images",
        "Images that no institution has. All ways begin with the same weights and read as many images.",
        HELD_OUT,
    ),
    "ways-own": (
        "On their own",
        "The mean over institutions, each on images of its own that it doesn't learn from.",
        OWN_DATA,
    ),
}
ALONE = "Its own model", "Each institution's own model on the images that it keeps to validate with, in percent."
# Cards that compare the institutions by round: word in the event's name -> title, explanation.
BY_ROUND = {
    "global": (
        "The shared model, by institution",
        "The shared model on the images that each institution keeps to validate with, in percent.",
    ),
    OWN_DATA: (
        "Before it is averaged",
        "The model that each institution has trained on its own images, before it is averaged; on the same images.",
    ),
    HELD_OUT: (
        "Its own model, on held-out images",
        "The model that each institution has trained, on images that no institution has.",
    ),
}
ABOUT_SHARES = "How many images of each digit every institution has; white: none."
ABOUT_TABLE = "Figures are those on the images that each institution validates with."
ABOUT_LAST = " The last column tells how far its own model gets with images of others."


def federated(snapshot: Snapshot) -> list[Card]:
    """Return a federation's cards; none for other runs."""
    if not _is_federation(snapshot):
        return []
    institutions, ways = snapshot.run.metrics["institutions"], snapshot.run.metrics["ways"]
    return [
        *_side_by_side(snapshot, ways),
        *_by_round(snapshot, len(institutions), ways[0]),
        *_by_institution(institutions, ways),
        _who_has_what(institutions),
        *_bytes(snapshot, ways[0]),
    ]


def _is_federation(snapshot: Snapshot) -> bool:
    """Return whether the run is a federation whose institutions are known already."""
    institutions, ways = snapshot.metric("institutions", list), snapshot.metric("ways", list)
    return bool(institutions and ways) and all(isinstance(institution, Mapping) for institution in institutions)


def _version(snapshot: Snapshot) -> Any:
    """Return what the cards depend on: totals and metrics, which change with every round of every way."""
    if not _is_federation(snapshot):
        return None
    totals = [(name, total) for name, total in sorted(snapshot.totals.items()) if name.endswith(_measure(snapshot))]
    return totals, snapshot.run.metrics


def _measure(snapshot: Snapshot) -> str:
    """Return the word for what is measured."""
    return snapshot.metric("measure", str) or "accuracy"


def _side_by_side(snapshot: Snapshot, ways: Sequence[str]) -> list[Card]:
    if len(ways) < 2:
        return []
    began = None if snapshot.began is None else {NAMES.get(way, way): snapshot.began for way in ways}
    cards = []
    for name, (title, text, event) in SIDE_BY_SIDE.items():
        event_name = f"{event} {_measure(snapshot)}"
        lines = {
            NAMES.get(way, way): series
            for way in ways
            if (series := snapshot.series(event_name if way == ways[0] else f"{way} {event_name}"))
        }
        chart = overlay(lines, began=began)
        chart.update_layout(xaxis_title_text="round")
        cards.append(Card(name, title, (about(text), figure(chart)), half=True))
    by_way = snapshot.metric("by_way", Mapping) or {}
    rows = [
        [
            NAMES.get(way, way).capitalize(),
            _accuracy(results.get("held_out_score")),
            _accuracy(results.get("own_score")),
            quantity(results.get("images_read") or 0),
            _transmitted(snapshot, way),
        ]
        for way in ways
        if isinstance(results := by_way.get(way), Mapping)
    ]
    if rows:
        heads = ["Way", "Held-out images", "Institutions' own images", "Images read", "What left the institutions"]
        cards.append(Card("ways-table", f"{NUMBERS[len(ways)]} ways side by side", (table(heads, rows),)))
    return cards


def _transmitted(snapshot: Snapshot, way: str) -> str:
    """Return what leaves the institutions in a way of learning."""
    if way == "centralised":
        images = snapshot.metric("train_images", int) or 0
        return f"all {count(images, 'image')}, {size(snapshot.metric('bytes_of_images', int) or 0)}"
    if way == "alone":
        return "nothing"
    if way != "federated":  # a federated way for comparison, whose bytes aren't counted here
        return "updates; no image"
    return f"updates, {size(snapshot.metric('bytes_up', int) or 0)}; no image"


def _by_round(snapshot: Snapshot, institutions: int, first: str) -> list[Card]:
    """Return cards with the accuracies of all institutions in the rounds so far."""
    by_kind = {what: by_round(snapshot, institutions, f"{what} {_measure(snapshot)}") for what in BY_ROUND}
    rounds = sorted({number for values in by_kind.values() for _, number in values})
    finite = [value for values in by_kind.values() for value in values.values() if math.isfinite(value)]
    cards = []
    for what, words_of in BY_ROUND.items():
        if finite and by_kind[what]:
            title, text = ALONE if (what, first) == (OWN_DATA, "alone") else words_of
            rows = [
                [by_kind[what].get((institution, number), math.nan) for number in rounds]
                for institution in range(1, institutions + 1)
            ]
            chart = figures.by_round(rounds, rows, (min(finite), max(finite)))
            cards.append(Card(f"institutions-{what}", title, (about(text), figure(chart)), half=True))
    return cards


def _by_institution(institutions: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> list[Card]:
    """Return a card with the scores of every way at each institution, once they are known."""
    ended = [way for way in ways if way in (institutions[0].get("own_score") or {})]
    if not ended:
        return []
    alone = "held_out_alone" in institutions[0]
    heads = ["Institution", *(SHORT.get(way, way).capitalize() for way in ended)]
    rows = [
        [str(number), *(_accuracy(institution["own_score"].get(way)) for way in ended)]
        for number, institution in enumerate(institutions, 1)
    ]
    if alone:
        heads.append("Alone, held-out images")
        for row, institution in zip(rows, institutions, strict=True):
            row.append(_accuracy(institution.get("held_out_alone")))
    parts = about(ABOUT_TABLE + (ABOUT_LAST if alone else "")), table(heads, rows)
    return [Card("institutions-end", "Institution by institution", parts)]


def _who_has_what(institutions: Sequence[Mapping[str, Any]]) -> Card:
    labels = [institution.get("labels") for institution in institutions]
    parts: list[Part] = []
    if all(isinstance(row, list) for row in labels):
        parts += [about(ABOUT_SHARES), figure(figures.shares([row or [] for row in labels]))]
    # Heading, required key, text of the cell.
    columns: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("Lives on", "", lambda institution: rank_cell(institution.get("rank", 0))),
        ("Learns from", "", lambda institution: quantity(institution["images"])),
        ("Validates with", "", lambda institution: quantity(institution["validation"])),
        ("Took part in", "took_part", lambda institution: count(institution["took_part"], "round")),
    ]
    visible = [column for column in columns if not column[1] or column[1] in institutions[0]]
    rows = [
        [str(number), *(cell(institution) for _, _, cell in visible)]
        for number, institution in enumerate(institutions, 1)
    ]
    heads = ["Institution", *(heading for heading, _, _ in visible)]
    return Card("institutions", "Who has which images", (*parts, table(heads, rows)))


def _bytes(snapshot: Snapshot, first: str) -> list[Card]:
    """Return a card with the bytes that the first way has sent so far."""
    sums = {way: snapshot.totals.get(f"bytes {way}", {}).get(0, (0, 0.0))[1] for way in ("down", "up")}
    rounds = _rounds(snapshot)
    if first == "alone" or not any(sums.values()) or not rounds:
        return []
    entries = [{"label": way, "value": size(value)} for way, value in sums.items()]
    entries += [{"label": f"{way} in a round", "value": size(value / rounds)} for way, value in sums.items()]
    model = snapshot.metric("bytes_model", int)
    up = "scores up from each" if first == "centralised" else "an update up from each that learned"
    text = f"A model down to every institution, {up}; as over a network between them."
    text += f" A model has {size(model)}." if model else ""
    return [Card("bytes", "What was sent", (about(text), tiles(entries)), half=True)]


def _rounds(snapshot: Snapshot) -> int:
    return snapshot.totals.get("total images/s", {}).get(0, (0, 0.0))[0]


def _accuracy(value: Any) -> str:
    return findings.percent(value) if findings.number(value) else "–"


PANELS = (
    Panel("federated", federated, _version, "learning", comparison=federated, metrics=SHOWN_METRICS),
    Panel(
        "guarding",
        protection,
        _protection_version,
        "learning",
        comparison=protection,
        metrics=("epsilon", "clipped", "rule"),
    ),
    *training_panels.PANELS,
)
