"""The verdict on an attack on updates: which digits were recovered, how, and what kept the others hidden; and the card
with the recovered pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.words import count
from workshop.extension import Panel
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, line, picture, pictures, table
from workshop.report.cards import words as sentences
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.report.training import panels as training_panels
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
    if not pictures:
        return None
    outcomes, images, total = (
        [outcome(picture) for picture in pictures],
        facts.run.params.get("images", 1),
        len(pictures),
    )
    recovered, told_apart = outcomes.count(RECOVERED), outcomes.count(TOLD_APART)
    values = [picture["likeness"] for picture in pictures]
    why = (
        f"Pictures have a PSNR of {min(values):.0f} to {max(values):.0f} dB, and {GOOD:.0f} dB count as recovered. "
        f"{facts.metrics['labels_right']} of {count(total, 'label')} were read off the last layer's gradient. "
    )
    if recovered:
        why += (
            "A dense first layer gives its input away: the gradient of a neuron's weights, divided by that of its "
            "bias, is the image, if no other image excites this neuron."
        )
    elif images > 1:
        why += f"The update is the mean over {images} images, which the attacker has to take apart."
    if LOST in outcomes and images > 1:
        following = f"Put fewer images behind the update (--images {images // 2}): how many can be taken apart?"
    elif images == MOST:
        following = "Compare with an update of one image (--images 1)."
    else:
        more = min(8 * images, MOST)
        following = f"Put more images behind the update (--images {more}): how many are still recovered?"
    remark = f"; {told_apart} can still be told from all other images" if told_apart else ""
    return Finding(f"{recovered} of {count(total, 'digit')} recovered{remark}.", why.strip(), following)


def inversion(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs that attack no update."""
    if PICTURE not in snapshot.artifacts:
        return []
    image = pictures([picture(snapshot.url(PICTURE), "Recovered digits")], wide=True)
    heads = ["Rank", "True label", "Recovered label", "PSNR", "Correlation", "With another image", "The digit is"]
    rows: list[list[str | Mapping[str, Any]]] = [
        [
            rank_cell(result["rank"]),
            str(result["label"]),
            str(result["read"]),
            f"{result['likeness']:.1f} dB",
            f"{result['correlation']:.3f}",
            f"{result['other']:.3f}",
            outcome(result),
        ]
        for result in (snapshot.metric("pictures", list) or [])[:MANY]
    ]
    parts = sentences(line(ABOUT, tone="about")), image, table(heads, rows), sentences(line(MEANING, tone="about"))
    return [Card("inversion", "What the updates gave away", parts)]


PANELS = (
    Panel(
        "inversion",
        inversion,
        lambda snapshot: (snapshot.version(PICTURE), snapshot.run.metrics),
        comparison=inversion,
    ),
    *training_panels.PANELS,
)
