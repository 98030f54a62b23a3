"""Speed-ups that others have published, to show beside a learner's own.

Only figures with a baseline of their own are here: a speed-up needs the same work on one worker and on several. So
the images/s of Frontera (2,048 nodes) and Summit (1,536 GPUs) are not: their source tells no single worker's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class PublishedSpeedUp:
    """A speed-up that somebody has published: of so many `workers` over one worker."""

    what: str
    workers: int
    worker: str  # what a worker is, in the singular
    speed_up: float
    weak: bool | None  # whether the work grew with the workers; None where the source doesn't tell
    figures: str  # the source's own numbers
    source: str

    @property
    def name(self) -> str:
        """For a legend."""
        return f"{self.what}, {self.workers} {self.worker}s ({self.short})"

    @property
    def short(self) -> str:
        """The source in two words."""
        return self.source.rpartition("(")[2].rstrip(")")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


PUBLISHED = (
    PublishedSpeedUp(
        "ResNet-50",
        2,
        "GPU",
        632.8 / 334.0,
        True,
        "334.0 images/s on one V100, 632.8 on two in different nodes, batch 64 per GPU; the talk rounds to 1.89",
        "High-Performance Deep Learning, SC22 booth talk, The Ohio State University (Jain 2022)",
    ),
    PublishedSpeedUp(
        "U-Net",
        2,
        "node",
        1.84,
        None,
        "72 hours of training became 39 on two nodes of 44 cores, 3,489 CT and as many PET images; the deck's figure",
        "Distributed DL/ML Solutions for HPC systems, Intel (Sobhee 2021)",
    ),
    PublishedSpeedUp(
        "S-GAN",
        8,
        "node",
        8.0,
        None,
        "a further 8x over eight nodes after all tuning, the article's own rounding",
        "Optimizing Distributed AI Training Using Intel oneAPI Toolkits, Intel (Rawat and Kapoor 2021)",
    ),
)


def references(largest: int) -> list[PublishedSpeedUp]:
    """The published speed-ups that fit into a figure of so many ranks."""
    return [one for one in PUBLISHED if one.workers <= largest]
