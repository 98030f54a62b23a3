"""What commands share."""

from __future__ import annotations

from typing import Any

from workshop.cli import common
from workshop.core.placement import Placement

NOTHING: dict[str, Any] = dict.fromkeys(("ranks", "map_by", "per_resource", "cores_per_rank", "bind_to", "threads"))


def test_what_is_asked_for_is_on_top_of_the_plain_defaults_or_the_session():
    assert common.placement_from({}, **NOTHING | {"ranks": "3"}, env=None) == Placement(ranks=3)
    session = Placement(ranks=5, bind_to="none").as_json()
    assert common.placement_from(session, **NOTHING, env=None) == Placement(ranks=5, bind_to="none")
    assert common.placement_from(session, **NOTHING | {"threads": "2"}, env=None).threads == 2
