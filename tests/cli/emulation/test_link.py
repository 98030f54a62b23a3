"""Rates as people write them, and what limits a link."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.cli.emulation import hosts
from workshop.cli.emulation.hosts import Link
from workshop.core.errors import BadInput


def test_what_people_write() -> None:
    assert hosts.parse_link("1gbit") == Link(1e9)
    assert hosts.parse_link("100 Mbit/s") == Link(1e8)
    assert hosts.parse_link(None) == Link(None)
    assert hosts.parse_link("1gbit").describe() == "1 Gbit/s"
    assert Link().describe() == "as fast as this machine"
    for rate, words in (("fast", "link is 'fast': it should be like 100mbit or 1gbit"), ("0mbit", "from 100kbit")):
        with pytest.raises(BadInput, match=words):
            hosts.parse_link(rate)


@given(st.text(max_size=12))
@settings(max_examples=100)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rate = hosts.parse_link(text).rate
    except BadInput:
        return
    assert rate is not None and hosts.SLOWEST <= rate <= hosts.FASTEST


def test_commands() -> None:
    assert Link().commands("eth0") == []
    (tbf,) = Link(1e9).commands("eth0")
    assert tbf[5:8] == ["tbf", "rate", "1000000000bit"]
