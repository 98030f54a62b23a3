"""By how much another host's clock is ahead of ours, from questions and answers that took a while (as in NTP)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """A question to another clock: the times of question and answer by our clock, and the time of the other clock.
    Seconds since the epoch."""

    sent: float
    remote: float
    received: float


@dataclass(frozen=True)
class Offset:
    """Another clock is `seconds` ahead of ours, give or take `within`."""

    seconds: float
    within: float


def offset(samples: Iterable[Sample]) -> Offset:
    """The offset of the quickest answer, which was read in the middle of its round trip, give or take half of it (D. L.
    Mills, RFC 5905, section 8). Raises ValueError without a sample."""
    best = min(samples, key=lambda sample: sample.received - sample.sent)
    half = (best.received - best.sent) / 2
    return Offset(best.remote - best.sent - half, half)
