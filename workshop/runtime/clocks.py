"""By how much another host's clock is ahead of ours, from questions and answers that took a while (as in NTP)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One question: when it was asked and when the answer came, by our clock, and what the other clock said between.
    Seconds since the epoch."""

    asked: float
    there: float
    answered: float


@dataclass(frozen=True)
class Offset:
    """Another clock is `seconds` ahead of ours, give or take `within`."""

    seconds: float
    within: float


def offset(samples: Iterable[Sample]) -> Offset:
    """The offset of the quickest answer, which was read in the middle of its round trip, give or take half of it (D. L.
    Mills, RFC 5905, section 8). Raises ValueError without a sample."""
    best = min(samples, key=lambda sample: sample.answered - sample.asked)
    half = (best.answered - best.asked) / 2
    return Offset(best.there - best.asked - half, half)
