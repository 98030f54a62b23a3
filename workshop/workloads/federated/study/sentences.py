"""How figures of three ways read: names, percentages, points, and how sure a difference is. Pure."""

from __future__ import annotations

from workshop.core import words
from workshop.report.analysis.scores import percent
from workshop.workloads.federated.study.results import Paired, Spread

NAMES = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
DATA = {"held_out": "held-out images", "own": "institutions' own images"}
# What they stand against in a sentence.
AGAINST = {"centralised": "pooled images", "alone": "each alone", "federated": "federated learning"}
NONE = "–"
# What others have found of data-rich models, trained on what all institutions have, over those trained on one's own.
# Whose figures these are, and what they were measured on, says `workshop.workloads.federated.report.verdict.PUBLISHED`.
PUBLISHED = {"held_out": 0.17, "own": 0.026}
PUBLISHED_BY = "Sheller et al. 2020"
APART = (
    "Theirs are ten institutions' brain scans, a U-Net, and how well its outlines cover a tumour; here are other "
    "images, another measure, and institutions that were made as unlike as this study asked for. So what compares is "
    "in which order the ways come, not by how much."
)


def spread(found: Spread | None) -> str:
    """A score's mean and standard deviation over the seeds: 93.1 ± 0.4 %."""
    if found is None:
        return NONE
    deviation = found.deviation
    return percent(found.mean) if deviation is None else f"{100 * found.mean:.1f} ± {100 * deviation:.1f} %"


def difference(found: Paired | None) -> str:
    """A mean difference and its standard error: +31.4 ± 1.9 points."""
    return NONE if found is None else _signed(found.mean, found.error, "points")


def relative(found: Paired | None) -> str:
    """The same in proportion: +51 ± 4 %."""
    return NONE if found is None or found.share is None else _signed(found.share, found.share_error, "%")


def _signed(value: float, error: float | None, unit: str) -> str:
    return f"{100 * value:+.1f}{'' if error is None else f' ± {100 * error:.1f}'} {unit}"


def better(share: float) -> str:
    """A share as a comparison: 17 % better."""
    return f"{abs(100 * share):.1f} % {'better' if share >= 0 else 'worse'}"


def agreement(found: Paired) -> str:
    """How many seeds say the same, and how often chance alone would do that."""
    number = len(found.differences)
    if number < 2:
        return "one seed, which can't tell chance from more"
    if found.agreed:
        times = 2 ** (number - 1)
        return f"with every one of {number} seeds, as chance alone would once in {times} times"
    most = max(found.better, found.worse)
    return f"with {most} of {number} seeds, as chance alone would {often(found.chance)}"


def often(chance: float) -> str:
    """How often something happens by chance, from its probability."""
    if chance >= 0.75:
        return "nearly always"
    return f"once in {words.short(round(1 / chance, 1))} times"
