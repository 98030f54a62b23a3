"""The verdict on an attack on updates: which digits were recovered, how, and what kept the others hidden; and the card
with the recovered pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.core.words import count
from workshop.extension import Panel, Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, Part, line, picture, pictures, table
from workshop.report.cards import words as sentences
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.training import panels as training_panels
from workshop.workloads.inversion import MOST

GOOD = 20.0  # dB of likeness from which a picture counts as recovered: errors of a tenth of the range of grey
RECOVERED, TOLD_APART, LOST = "recovered", "told apart", "lost"

Picture = Mapping[str, Any]
PICTURE = "recovered.png"
ABOUT = (
    "Above, images that institutions have and never sent. Below, what the aggregator made of the updates that they did "
    "send; it knows the shared model, and nothing else of them."
)
MEANING = (
    "The correlation is that of pixels; beside it is that with the most similar of all other images. Recovered: most "
    f"similar to the true image, and a PSNR of {GOOD:.0f} dB at least. Told apart: most similar to it, but less so."
)
MANY = 32  # rows


def outcome(picture: Picture) -> str:
    """ "Recovered": most like the true image among all images, by at least 20 dB. "Told apart": only the former, so the
    owner of the images knows which one it was. "Lost": neither."""
    if not picture["nearest"]:
        return LOST
    return RECOVERED if picture["likeness"] >= GOOD else TOLD_APART


def measured(facts: Facts) -> Finding | None:
    """The result of the attacks of all ranks; None for any other run, and for one that has not ended."""
    pictures = facts.metrics.get("pictures")
    if not isinstance(pictures, list) or not pictures or "nearest" not in pictures[0]:
        return None
    came = [outcome(picture) for picture in pictures]
    why = [_likeness(facts, pictures), _labels(facts, pictures), _how(facts, came)]
    return Finding(_verdict(came), " ".join(filter(None, why)), _following(facts, came))


def _verdict(came: Sequence[str]) -> str:
    recovered, told_apart, count = came.count(RECOVERED), came.count(TOLD_APART), len(came)
    if recovered == count:
        everyone = {1: "The digit was", 2: "Both digits were"}.get(count, f"All {count} digits were")
        return f"{everyone} recovered."
    if recovered:
        return f"{recovered} of {count} digits {'was' if recovered == 1 else 'were'} recovered."
    none = "The digit was not recovered" if count == 1 else f"None of {count} digits was recovered"
    if told_apart:
        still = "it" if count == 1 else f"{told_apart} of them"
        return f"{none}, but {still} can still be told from all other images."
    return f"{none}."


def _likeness(facts: Facts, pictures: Sequence[Picture]) -> str:
    """How like the images the pictures are, and whether any other image is more like them."""
    among = words.thousands(facts.metrics.get("train_images") or 0)
    if len(pictures) == 1:
        (picture,) = pictures
        most = "the true one" if picture["nearest"] else "another one"
        return (
            f"The picture has a PSNR of {_decibels(picture['likeness'])}, and {_decibels(GOOD)} count as recovered; of "
            f"{among} images it is most like {most} (correlation {picture['correlation']:.2f} with the true image, "
            f"{picture['other']:.2f} with the best other one)."
        )
    values = [picture["likeness"] for picture in pictures]
    true = sum(bool(picture["nearest"]) for picture in pictures)
    return (
        f"Pictures have a PSNR of {_decibels(min(values))} to {_decibels(max(values))}, and {_decibels(GOOD)} count as "
        f"recovered; {true} of {len(pictures)} are more like the true image than like any other of {among}."
    )


def _labels(facts: Facts, pictures: Sequence[Picture]) -> str:
    right = facts.metrics.get("labels_right")
    if right is None:
        return ""
    if len(pictures) == 1:
        return f"Its label was {'read' if right else 'not read'} off the last layer's gradient."
    return f"{right} of {len(pictures)} labels were read off the last layers' gradients."


def _how(facts: Facts, came: Sequence[str]) -> str:
    """The way in which the attack succeeded, or why it failed."""
    if RECOVERED in came:
        return (
            "A dense first layer gives its input away: the gradient of a neuron's weights, divided by that of its "
            "bias, is the image, if no other image excites this neuron."
        )
    images = facts.run.params.get("images", 1)
    return f"The update is the mean over {images} images, which the attacker has to take apart." if images > 1 else ""


def _following(facts: Facts, came: Sequence[str]) -> str:
    images = facts.run.params.get("images", 1)
    if LOST in came and images > 1:
        return f"Put fewer images behind the update (--images {images // 2}): how many can be taken apart?"
    if images == MOST:
        return "Compare with an update of one image (--images 1)."
    return f"Put more images behind the update (--images {min(8 * images, MOST)}): how many are still recovered?"


def _decibels(value: float) -> str:
    return f"{value:.0f} dB" if abs(value) >= 10 else f"{value:.1f} dB"


VERDICT = Verdict(measured, first=True)


def inversion(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs that attack no update."""
    if PICTURE not in snapshot.artifacts:
        return []
    parts: list[Part] = [
        sentences(line(ABOUT, tone="about")),
        pictures([picture(snapshot.url(PICTURE), "Recovered digits")], wide=True),
    ]
    if picture_list := snapshot.metric("pictures", list):
        parts += _table(snapshot, picture_list)
    return [Card("inversion", "What the updates gave away", tuple(parts))]


def _table(snapshot: Snapshot, pictures: list[Mapping[str, Any]]) -> list[Part]:
    heads = ["Rank", "True label", "Recovered label", "PSNR", "Correlation", "With another image", "The digit is"]
    rows: list[list[str | Mapping[str, Any]]] = [
        [
            rank_cell(picture["rank"]),
            str(picture["label"]),
            str(picture["read"]),
            f"{picture['likeness']:.1f} dB",
            f"{picture['correlation']:.3f}",
            f"{picture['other']:.3f}",
            outcome(picture),
        ]
        for picture in pictures[:MANY]
    ]
    lines = [line(MEANING, tone="about")]
    if len(pictures) > MANY:
        lines.append(line(f"These are {MANY} of {count(len(pictures), 'image')}.", tone="about"))
    return [table(heads, rows), sentences(*lines)]


PANELS = (
    Panel(
        "inversion",
        inversion,
        lambda snapshot: (snapshot.version(PICTURE), snapshot.run.metrics),
        comparison=inversion,
    ),
    *training_panels.PANELS,
)
