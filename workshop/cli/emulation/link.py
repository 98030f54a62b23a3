"""The links of emulated hosts: how fast they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workshop.core.errors import BadInput

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])bit(?:/s)?")
_BITS = {"k": 1e3, "m": 1e6, "g": 1e9}
SLOWEST, FASTEST = 100e3, 100e9  # bit/s
BURST = 0.001  # seconds of the rate that may go out at once
QUEUE = 0.4  # seconds of the rate that may wait, before packets are dropped


@dataclass(frozen=True)
class Link:
    """The speed of each host's link in each direction, in bit/s; None: unlimited."""

    rate: float | None = None

    def commands(self, device: str) -> list[list[str]]:
        """The commands that limit the packets that leave a device (tc-tbf(8))."""
        if self.rate is None:
            return []
        burst = max(round(self.rate / 8 * BURST), 16_000)
        limits = ["rate", f"{self.rate:.0f}bit", "burst", str(burst), "latency", f"{QUEUE * 1e3:.0f}ms"]
        return [["qdisc", "replace", "dev", device, "root", "tbf", *limits]]

    def describe(self) -> str:
        """`1 Gbit/s`"""
        if self.rate is None:
            return "as fast as this machine"
        unit, bits = next(((u, b) for u, b in (("G", 1e9), ("M", 1e6)) if self.rate >= b), ("k", 1e3))
        return f"{self.rate / bits:g} {unit}bit/s"


def parse(text: str | None) -> Link:
    """Read a rate such as `1gbit`; None: unlimited. Raises BadInput."""
    if text is None:
        return Link()
    match = _RATE.fullmatch(text.strip().lower())
    rate = float(match[1]) * _BITS[match[2]] if match else -1.0
    if not SLOWEST <= rate <= FASTEST:
        raise BadInput(f"link is {text!r}: it should be like 100mbit or 1gbit, from 100kbit to 100gbit.")
    return Link(rate)
