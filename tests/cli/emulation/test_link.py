"""Rates as people write them."""

from __future__ import annotations

import pytest

from workshop.cli.emulation.hosts import parse_rate
from workshop.core.errors import BadInput


def test_what_people_write() -> None:
    assert parse_rate("1gbit") == 1e9
    assert parse_rate("100 Mbit/s") == 1e8
    for rate, words in (("fast", "link is 'fast': it should be like 100mbit or 1gbit"), ("0mbit", "from 100kbit")):
        with pytest.raises(BadInput, match=words):
            parse_rate(rate)
