"""The links of emulated hosts: how fast they are, and what went over them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workshop.core.errors import BadInput

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])bit(?:/s)?")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)")
_BITS = {"k": 1e3, "m": 1e6, "g": 1e9}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
SLOWEST, FASTEST = 100e3, 100e9  # bit/s
LONGEST = 1.0  # seconds
BURST = 0.001  # seconds of the rate that may go out at once
QUEUE = 0.4  # seconds of the rate that may wait, before packets are dropped


@dataclass(frozen=True)
class Link:
    """The speed and delay of each host's link, in each direction: bit/s and seconds; None: unlimited."""

    rate: float | None = None
    latency: float | None = None

    def commands(self, device: str) -> list[list[str]]:
        """The commands that limit the packets that leave a device (tc-tbf(8), tc-netem(8))."""
        root = ["qdisc", "replace", "dev", device, "root"]
        if self.latency is not None:
            rate = ["rate", f"{self.rate:.0f}bit"] if self.rate is not None else []
            # Each direction takes its half of a round trip; the queue holds what is on the way.
            return [[*root, "netem", "delay", f"{self.latency * 1e6:.0f}us", *rate, "limit", "100000"]]
        if self.rate is not None:
            burst = max(round(self.rate / 8 * BURST), 16_000)
            limits = ["rate", f"{self.rate:.0f}bit", "burst", str(burst), "latency", f"{QUEUE * 1e3:.0f}ms"]
            return [[*root, "tbf", *limits]]
        return []

    def describe(self) -> str:
        """`1 Gbit/s, 0.5 ms`"""
        words = []
        if self.rate is not None:
            unit, bits = next(((u, b) for u, b in (("G", 1e9), ("M", 1e6)) if self.rate >= b), ("k", 1e3))
            words.append(f"{self.rate / bits:g} {unit}bit/s")
        if self.latency is not None:
            words.append(f"{self.latency * 1e3:g} ms")
        return ", ".join(words) or "as fast as this machine"


def parse(rate: str | None, latency: str | None) -> Link:
    """Read `1gbit` and `0.5ms`. Raises BadInput."""
    return Link(
        _number("link", rate, _RATE, _BITS, (SLOWEST, FASTEST), "like 100mbit or 1gbit, from 100kbit to 100gbit"),
        _number("latency", latency, _TIME, _SECONDS, (0.0, LONGEST), "like 200us or 0.5ms, at most 1s"),
    )


def _number(
    what: str, text: str | None, form: re.Pattern[str], units: dict[str, float], ends: tuple[float, float], right: str
) -> float | None:
    if text is None:
        return None
    match = form.fullmatch(text.strip().lower())
    value = float(match[1]) * units[match[2]] if match else -1.0
    if not ends[0] <= value <= ends[1]:
        raise BadInput(f"{what} is {text!r}: it should be {right}.")
    return value


@dataclass(frozen=True)
class Traffic:
    """Bytes that went over a device since it came up, and packets' headers with them."""

    sent: int
    received: int

    def __sub__(self, before: Traffic) -> Traffic:
        return Traffic(self.sent - before.sent, self.received - before.received)


def traffic(table: str, device: str = "eth0") -> Traffic:
    """Read Linux's /proc/net/dev. Raises ValueError where the device isn't there."""
    for line in table.splitlines():
        name, colon, numbers = line.partition(":")
        if colon and name.strip() == device:
            columns = [int(number) for number in numbers.split()]
            return Traffic(sent=columns[8], received=columns[0])
    raise ValueError(f"there is no device {device}")
