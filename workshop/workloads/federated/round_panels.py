"""What a federation shows, live by round: the ways of learning side by side, who has which digits, how each institution
fares, and what that cost in bytes and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import count, percent, size, thousands
from workshop.report.cards import Card, Part, figure, line, table, tiles, words
from workshop.report.figures.curves import overlay
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.store.records import Series
from workshop.workloads.federated import figures
from workshop.workloads.federated.verdict import DICE, PUBLISHED

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
# Metrics that the cards here tell.
TOLD_HERE = frozenset(("bytes_down", "bytes_up", "bytes_model", "bytes_of_images", "participants"))
ABOUT_HELD_OUT = "Images that no institution has. All ways begin with the same weights and read as many images."
ABOUT_OWN = "The mean over institutions, each on images of its own that it doesn't learn from."
ABOUT_SHARES = "How many images of each digit every institution has; white: none."
ABOUT_GLOBAL = "The shared model on the images that each institution keeps to validate with, in percent."
ABOUT_ALONE = "Each institution's own model on the images that it keeps to validate with, in percent."
ABOUT_BEFORE = (
    "The model that each institution has trained on its own images, before it is averaged; on the same images."
)
ABOUT_OUTSIDE = "The model that each institution has trained, on images that no institution has."
ABOUT_TABLE = "Figures are those on the images that each institution validates with."
ABOUT_LAST = " The last column tells how far its own model gets with images of others."
PHASES = "time."


def federated(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs without institutions."""
    if not known(snapshot):
        return []
    institutions, ways = snapshot.run.metrics["institutions"], snapshot.run.metrics["ways"]
    return [
        *_side_by_side(snapshot, ways),
        *_by_round(snapshot, len(institutions), ways[0]),
        *_by_institution(institutions, ways),
        _who_has_what(institutions),
        *_cost(snapshot, ways[0]),
    ]


def known(snapshot: Snapshot) -> bool:
    """Whether the run is a federation, and has told who has which images."""
    institutions, ways = snapshot.metric("institutions", list), snapshot.metric("ways", list)
    return bool(institutions and ways) and all(isinstance(one, Mapping) for one in institutions)


def told(snapshot: Snapshot) -> list[Any]:
    """What changes with every round of every way."""
    return [(name, snapshot.totals[name]) for name in sorted(snapshot.totals) if name.endswith(_measure(snapshot))]


def _measure(snapshot: Snapshot) -> str:
    """The word for what is measured."""
    return snapshot.metric("measure", str) or "accuracy"


def _side_by_side(snapshot: Snapshot, ways: Sequence[str]) -> list[Card]:
    if len(ways) < 2:
        return []
    cards = []
    shown = (("ways", "On held-out images", ABOUT_HELD_OUT, HELD_OUT), ("ways-own", "On their own", ABOUT_OWN, OWN))
    for name, title, about, event in shown:
        lines = {NAMES.get(way, way): _series(snapshot, way, ways[0], f"{event} {_measure(snapshot)}") for way in ways}
        drawn = overlay({label: series for label, series in lines.items() if series}, began=_begins(snapshot, ways))
        drawn.update_layout(xaxis_title_text="round")
        cards.append(Card(name, title, (_about(about), figure(drawn)), half=True))
    by_way = snapshot.metric("by_way", Mapping) or {}
    if rows := [_way(snapshot, way, by_way) for way in ways if isinstance(by_way.get(way), Mapping)]:
        heads = ["Way", "Held-out images", "Institutions' own images", "Images read", "What left the institutions"]
        three = {"federated", "centralised", "alone"} <= set(ways)
        title = f"{WAYS[len(ways)]} ways side by side"
        cards.append(Card("ways-table", title, (table(heads, rows), *([_published(snapshot)] if three else []))))
    return cards


WAYS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}


def _published(snapshot: Snapshot) -> Part:
    """What others found, and why it isn't to be compared."""
    other = "That is another task, other data and another measure"
    if _measure(snapshot) == DICE:
        other = "Those are brain tumours of real patients, these patients don't exist"
    apart = f"{other}; it is cited here for the question, not for the numbers."
    return words(line(PUBLISHED, "Published", "about"), line(apart, tone="about"))


def _begins(snapshot: Snapshot, ways: Sequence[str]) -> dict[str, float] | None:
    return None if snapshot.began is None else {NAMES.get(way, way): snapshot.began for way in ways}


def _series(snapshot: Snapshot, way: str, first: str, event: str) -> list[Series]:
    return snapshot.series(event if way == first else f"{way} {event}")


def _way(snapshot: Snapshot, way: str, by_way: Mapping[str, Mapping[str, Any]]) -> list[str]:
    came = by_way[way]
    return [
        NAMES.get(way, way).capitalize(),
        _accuracy(came.get("held_out_score")),
        _accuracy(came.get("own_score")),
        thousands(came.get("images_read") or 0),
        _left(snapshot, way),
    ]


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
    names = {
        f"institution {one + 1} {what} {_measure(snapshot)}": (what, one)
        for one in range(institutions)
        for what in _WHAT
    }
    found: dict[str, dict[tuple[int, int], float]] = {what: {} for what in _WHAT}
    for event in snapshot.store.events(snapshot.run.id, names, rank=0):
        what, one = names[event.name]
        if event.step is not None:
            found[what][one, event.step] = event.value
    rounds = sorted({number for values in found.values() for _, number in values})
    seen = [value for values in found.values() for value in values.values() if math.isfinite(value)]
    if not seen:
        return []
    cards = []
    for what, (title, about) in _titles(first).items():
        if found[what]:
            table_of = [[found[what].get((one, number), math.nan) for number in rounds] for one in range(institutions)]
            drawn = figures.by_round(rounds, table_of, (min(seen), max(seen)))
            cards.append(Card(f"institutions-{what}", title, (_about(about), figure(drawn)), half=True))
    return cards


_WHAT = ("global", "own", HELD_OUT)


def _titles(first: str) -> dict[str, tuple[str, str]]:
    own = ("Its own model", ABOUT_ALONE) if first == "alone" else ("Before it is averaged", ABOUT_BEFORE)
    outside = ("Its own model, on held-out images", ABOUT_OUTSIDE)
    return {"global": ("The shared model, by institution", ABOUT_GLOBAL), "own": own, HELD_OUT: outside}


def _by_institution(institutions: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> list[Card]:
    """What every way came to at each of them, once that is known."""
    ended = [way for way in ways if way in (institutions[0].get("own_score") or {})]
    if not ended:
        return []
    alone = "held_out_alone" in institutions[0]
    heads = ["Institution", *(SHORT.get(way, way).capitalize() for way in ended)]
    heads += ["Alone, held-out images"] if alone else []
    rows = [
        [
            str(number),
            *(_accuracy(one["own_score"].get(way)) for way in ended),
            *([_accuracy(one.get("held_out_alone"))] if alone else []),
        ]
        for number, one in enumerate(institutions, 1)
    ]
    about = _about(ABOUT_TABLE + (ABOUT_LAST if alone else ""))
    return [Card("institutions-end", "Institution by institution", (about, table(heads, rows)))]


def _who_has_what(institutions: Sequence[Mapping[str, Any]]) -> Card:
    labels = [one.get("labels") for one in institutions]
    parts: list[Part] = []
    if all(isinstance(row, list) for row in labels):
        parts += [_about(ABOUT_SHARES), figure(figures.shares(labels))]
    heads = ["Institution", "Lives on", "Learns from", "Validates with"]
    heads += ["Took part in"] if "took_part" in institutions[0] else []
    heads += ["Its scanner"] if "scanner" in institutions[0] else []
    rows = []
    for number, one in enumerate(institutions, 1):
        row: list[Any] = [
            str(number),
            rank_cell(one.get("rank", 0)),
            thousands(one["images"]),
            thousands(one["validation"]),
        ]
        row += [count(one["took_part"], "round")] if "took_part" in one else []
        row += [_scanner(one["scanner"])] if "scanner" in one else []
        rows.append(row)
    return Card("institutions", "Who has which images", (*parts, table(heads, rows)))


def _scanner(one: Mapping[str, Any]) -> str:
    return f"contrast {percent(one['contrast'])}, paper at {percent(one['offset'])}, noise {percent(one['noise'])}"


def _cost(snapshot: Snapshot, first: str) -> list[Card]:
    """Bytes of the first way, as far as they were sent, and the time of all."""
    times = {
        name.removeprefix(PHASES): [told.get(rank, (0, 0.0))[1] for rank in range(snapshot.ranks)]
        for name, told in snapshot.totals.items()
        if name.startswith(PHASES)
    }
    rounds = snapshot.totals.get("total images/s", {}).get(0, (0, 0.0))[0]
    cards = []
    if first != "alone" and (shown := _bytes(snapshot, rounds)):
        model = snapshot.metric("bytes_model", int)
        up = "scores up from each" if first == "centralised" else "an update up from each that learned"
        about = f"A model down to every institution, {up}; as over a network between them."
        about += f" A model has {size(model)}." if model else ""
        cards.append(Card("bytes", "What was sent", (_about(about), tiles(shown)), half=True))
    if times and rounds:
        drawn = figure(figures.phase_times(times, rounds))
        cards.append(Card("phases", "Where each rank's time went", (drawn,), half=True))
    return cards


def _bytes(snapshot: Snapshot, rounds: int) -> list[dict[str, str]]:
    sums = {way: snapshot.totals.get(f"bytes {way}", {}).get(0, (0, 0.0))[1] for way in ("down", "up")}
    if not any(sums.values()) or not rounds:
        return []
    shown = [{"label": way, "value": size(value)} for way, value in sums.items()]
    return shown + [{"label": f"{way} in a round", "value": size(value / rounds)} for way, value in sums.items()]


def _about(text: str) -> Part:
    return words(line(text, tone="about"))


def _accuracy(value: Any) -> str:
    told = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return f"{100 * value:.1f} %" if told else "–"
