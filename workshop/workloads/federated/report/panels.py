"""What a federation shows, live by round: the ways of learning side by side, who has which digits, how each institution
fares, and what that cost in bytes and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import count, percent, size, thousands
from workshop.extension import Panel
from workshop.report.analysis import scores
from workshop.report.cards import Card, Part, figure, line, table, tiles, words
from workshop.report.figures.curves import overlay
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated.report import figures, protection_panels
from workshop.workloads.federated.report.verdict import DICE, PUBLISHED

HELD_OUT, OWN = "held-out", "own"  # before the measure; of other ways than the first behind their name
# "Undisturbed" is without attack and defence, "undefended" with the attack alone.
NAMES = {
    "federated": "federated",
    "centralised": "pooled images",
    "alone": "each alone",
    "plain": "undisturbed",
    "undefended": "undefended",
    "whole": "not compressed",
}
SHORT = {**NAMES, "centralised": "pooled", "alone": "alone"}
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}
# Metrics that the cards here tell.
TOLD_HERE = frozenset(("bytes_down", "bytes_up", "bytes_model", "bytes_of_images", "participants"))
# What is drawn of the ways side by side, by the name of its card: title, explanation, event.
SIDE_BY_SIDE = {
    "ways": (
        "On held-out images",
        "Images that no institution has. All ways begin with the same weights and read as many images.",
        HELD_OUT,
    ),
    "ways-own": (
        "On their own",
        "The mean over institutions, each on images of its own that it doesn't learn from.",
        OWN,
    ),
}
ALONE = "Its own model", "Each institution's own model on the images that it keeps to validate with, in percent."
# What is drawn of each institution by round, by the word in its event: title, explanation.
BY_ROUND = {
    "global": (
        "The shared model, by institution",
        "The shared model on the images that each institution keeps to validate with, in percent.",
    ),
    OWN: (
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
PHASES = "time."


def federated(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs without institutions."""
    if not _known(snapshot):
        return []
    institutions, ways = snapshot.run.metrics["institutions"], snapshot.run.metrics["ways"]
    return [
        *_side_by_side(snapshot, ways),
        *_by_round(snapshot, len(institutions), ways[0]),
        *_by_institution(institutions, ways),
        _who_has_what(institutions),
        *_bytes(snapshot, ways[0]),
        *_phases(snapshot),
    ]


def _known(snapshot: Snapshot) -> bool:
    """Whether the run is a federation, and has told who has which images."""
    institutions, ways = snapshot.metric("institutions", list), snapshot.metric("ways", list)
    return bool(institutions and ways) and all(isinstance(one, Mapping) for one in institutions)


def _made_of(snapshot: Snapshot) -> Any:
    """What changes with every round of every way."""
    if not _known(snapshot):
        return None
    told = [(name, total) for name, total in sorted(snapshot.totals.items()) if name.endswith(_measure(snapshot))]
    return told, snapshot.run.metrics


def _measure(snapshot: Snapshot) -> str:
    """The word for what is measured."""
    return snapshot.metric("measure", str) or "accuracy"


def _side_by_side(snapshot: Snapshot, ways: Sequence[str]) -> list[Card]:
    if len(ways) < 2:
        return []
    began = None if snapshot.began is None else {NAMES.get(way, way): snapshot.began for way in ways}
    cards = []
    for name, (title, about, event) in SIDE_BY_SIDE.items():
        told = f"{event} {_measure(snapshot)}"
        lines = {
            NAMES.get(way, way): series
            for way in ways
            if (series := snapshot.series(told if way == ways[0] else f"{way} {told}"))
        }
        drawn = overlay(lines, began=began)
        drawn.update_layout(xaxis_title_text="round")
        cards.append(Card(name, title, (_about(about), figure(drawn)), half=True))
    by_way = snapshot.metric("by_way", Mapping) or {}
    rows = [
        [
            NAMES.get(way, way).capitalize(),
            _accuracy(came.get("held_out_score")),
            _accuracy(came.get("own_score")),
            thousands(came.get("images_read") or 0),
            _left(snapshot, way),
        ]
        for way in ways
        if isinstance(came := by_way.get(way), Mapping)
    ]
    if rows:
        heads = ["Way", "Held-out images", "Institutions' own images", "Images read", "What left the institutions"]
        published = [_published(snapshot)] if {"federated", "centralised", "alone"} <= set(ways) else []
        title = f"{NUMBERS[len(ways)]} ways side by side"
        cards.append(Card("ways-table", title, (table(heads, rows), *published)))
    return cards


def _published(snapshot: Snapshot) -> Part:
    """What others found, and why it isn't to be compared."""
    other = "That is another task, other data and another measure"
    if _measure(snapshot) == DICE:
        other = "Those are brain tumours of real patients, these patients don't exist"
    apart = f"{other}; it is cited here for the question, not for the numbers."
    return words(line(PUBLISHED, "Published", "about"), line(apart, tone="about"))


def _left(snapshot: Snapshot, way: str) -> str:
    """What institutions give away in a way of learning."""
    if way == "centralised":
        images = snapshot.metric("train_images", int) or 0
        return f"all {count(images, 'image')}, {size(snapshot.metric('bytes_of_images', int) or 0)}"
    if way == "alone":
        return "nothing"
    if way != "federated":  # in the same way, beside it
        return "updates; no image"
    return f"updates, {size(snapshot.metric('bytes_up', int) or 0)}; no image"


def _by_round(snapshot: Snapshot, institutions: int, first: str) -> list[Card]:
    """Accuracies of all institutions in all rounds, as far as they are."""
    found = {
        what: protection_panels.by_round(snapshot, institutions, f"{what} {_measure(snapshot)}") for what in BY_ROUND
    }
    rounds = sorted({number for values in found.values() for _, number in values})
    seen = [value for values in found.values() for value in values.values() if math.isfinite(value)]
    cards = []
    for what, words_of in BY_ROUND.items():
        if seen and found[what]:
            title, about = ALONE if (what, first) == (OWN, "alone") else words_of
            rows = [
                [found[what].get((one, number), math.nan) for number in rounds] for one in range(1, institutions + 1)
            ]
            drawn = figures.by_round(rounds, rows, (min(seen), max(seen)))
            cards.append(Card(f"institutions-{what}", title, (_about(about), figure(drawn)), half=True))
    return cards


def _by_institution(institutions: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> list[Card]:
    """What every way came to at each of them, once that is known."""
    ended = [way for way in ways if way in (institutions[0].get("own_score") or {})]
    if not ended:
        return []
    alone = "held_out_alone" in institutions[0]
    heads = ["Institution", *(SHORT.get(way, way).capitalize() for way in ended)]
    rows = [
        [str(number), *(_accuracy(one["own_score"].get(way)) for way in ended)]
        for number, one in enumerate(institutions, 1)
    ]
    if alone:
        heads.append("Alone, held-out images")
        for row, one in zip(rows, institutions, strict=True):
            row.append(_accuracy(one.get("held_out_alone")))
    about = _about(ABOUT_TABLE + (ABOUT_LAST if alone else ""))
    return [Card("institutions-end", "Institution by institution", (about, table(heads, rows)))]


def _who_has_what(institutions: Sequence[Mapping[str, Any]]) -> Card:
    labels = [one.get("labels") for one in institutions]
    parts: list[Part] = []
    if all(isinstance(row, list) for row in labels):
        parts += [_about(ABOUT_SHARES), figure(figures.shares(labels))]
    # Headings, the key that has to be known, and how its value reads.
    columns = [
        ("Lives on", "", lambda one: rank_cell(one.get("rank", 0))),
        ("Learns from", "", lambda one: thousands(one["images"])),
        ("Validates with", "", lambda one: thousands(one["validation"])),
        ("Took part in", "took_part", lambda one: count(one["took_part"], "round")),
        ("Its scanner", "scanner", lambda one: _scanner(one["scanner"])),
    ]
    shown = [column for column in columns if not column[1] or column[1] in institutions[0]]
    rows = [[str(number), *(cell(one) for _, _, cell in shown)] for number, one in enumerate(institutions, 1)]
    heads = ["Institution", *(heading for heading, _, _ in shown)]
    return Card("institutions", "Who has which images", (*parts, table(heads, rows)))


def _scanner(one: Mapping[str, Any]) -> str:
    return f"contrast {percent(one['contrast'])}, paper at {percent(one['offset'])}, noise {percent(one['noise'])}"


def _bytes(snapshot: Snapshot, first: str) -> list[Card]:
    """Bytes of the first way, as far as they were sent."""
    sums = {way: snapshot.totals.get(f"bytes {way}", {}).get(0, (0, 0.0))[1] for way in ("down", "up")}
    rounds = _rounds(snapshot)
    if first == "alone" or not any(sums.values()) or not rounds:
        return []
    shown = [{"label": way, "value": size(value)} for way, value in sums.items()]
    shown += [{"label": f"{way} in a round", "value": size(value / rounds)} for way, value in sums.items()]
    model = snapshot.metric("bytes_model", int)
    up = "scores up from each" if first == "centralised" else "an update up from each that learned"
    about = f"A model down to every institution, {up}; as over a network between them."
    about += f" A model has {size(model)}." if model else ""
    return [Card("bytes", "What was sent", (_about(about), tiles(shown)), half=True)]


def _phases(snapshot: Snapshot) -> list[Card]:
    """The time of all ways, rank by rank."""
    times = {
        name.removeprefix(PHASES): [told.get(rank, (0, 0.0))[1] for rank in range(snapshot.ranks)]
        for name, told in snapshot.totals.items()
        if name.startswith(PHASES)
    }
    rounds = _rounds(snapshot)
    if not times or not rounds:
        return []
    drawn = figure(figures.phase_times(times, rounds))
    return [Card("phases", "Where each rank's time went", (drawn,), half=True)]


def _rounds(snapshot: Snapshot) -> int:
    return snapshot.totals.get("total images/s", {}).get(0, (0, 0.0))[0]


def _about(text: str) -> Part:
    return words(line(text, tone="about"))


def _accuracy(value: Any) -> str:
    return scores.percent(value) if scores.number(value) else "–"


PANELS = (
    Panel("federated", federated, _made_of, "learning", beside=federated, told=TOLD_HERE),
    *protection_panels.PANELS,
)
