"""Planning a scaling study from a notebook."""

from __future__ import annotations

from typing import Any

from workshop.extension import Workload
from workshop.notebook.request import on_top
from workshop.notebook.session import cores_of
from workshop.notebook.study_plan import PlannedStudy, parted_for, whole
from workshop.runtime import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def plan(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> PlannedStudy:
    from workshop.study.scaling.plan import default_ranks
    from workshop.study.scaling.plan import plan as planned

    given = asked.pop("ranks", None) or default_ranks(cores_of(session))
    ranks = sorted(whole("ranks", number) for number in ([given] if isinstance(given, int) else given))
    weak, repeats = bool(asked.pop("weak", False)), whole("repeats", asked.pop("repeats", 3))
    params, fields = parted_for(chosen, asked, ("ranks", "weak", "repeats", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, {**fields, "ranks": ranks[0]}))
    return planned(chosen, params, ranks, placement, weak, repeats)
