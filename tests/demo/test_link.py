"""Rates and times as people write them, and what Linux counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.demo import link
from workshop.demo.link import Link, Traffic

TABLE = """\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0
  eth0: 12345 99 0 0 0 0 0 0 67890 88 0 0 0 0 0 0
"""


def test_what_people_write() -> None:
    assert link.parse("1gbit", None) == Link(1e9, None)
    assert link.parse("100 Mbit/s", "0.5ms") == Link(1e8, 0.0005)
    assert link.parse(None, "200us") == Link(None, pytest.approx(0.0002))
    assert link.parse("1gbit", "1ms").describe() == "1 Gbit/s, 1 ms"
    assert Link().describe() == "as fast as this machine"
    for rate, latency, words in (
        ("fast", None, "link is 'fast': it should be like 100mbit or 1gbit"),
        ("0mbit", None, "from 100kbit"),
        (None, "5 s", "at most 1s"),
    ):
        with pytest.raises(BadInput, match=words):
            link.parse(rate, latency)


@given(st.integers(1, 99_999), st.sampled_from(["kbit", "mbit", "gbit"]))
@settings(max_examples=50)
def test_rates_that_are_described_are_read_again(number: int, unit: str) -> None:
    try:
        parsed = link.parse(f"{number}{unit}", None)
    except BadInput:
        return
    again = link.parse(parsed.describe().replace(" ", "").replace("bit/s", "bit"), None)
    assert again.rate == pytest.approx(parsed.rate, rel=1e-4)


@given(st.text(max_size=12))
@settings(max_examples=100)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rate = link.parse(text, None).rate
    except BadInput:
        return
    assert rate is not None and link.SLOWEST <= rate <= link.FASTEST


def test_what_linux_counts() -> None:
    assert link.traffic(TABLE) == Traffic(sent=67890, received=12345)
    assert Traffic(10, 20) - Traffic(4, 5) == Traffic(6, 15)
    with pytest.raises(ValueError, match="no device eth1"):
        link.traffic(TABLE, "eth1")


def test_commands() -> None:
    assert Link().commands("eth0") == []
    (tbf,) = Link(1e9).commands("eth0")
    assert tbf[5:8] == ["tbf", "rate", "1000000000bit"]
    (netem,) = Link(1e9, 0.001).commands("eth0")
    assert netem[5:8] == ["netem", "delay", "1000us"]
