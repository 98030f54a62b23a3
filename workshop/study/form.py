"""The fields with which a page plans a study of any kind, so that the page needs to know no kind by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.trials import Planned


@dataclass(frozen=True)
class StudyRequest:
    """A form that somebody has filled in."""

    store: Store
    session: SessionRecord | None
    workload: Workload
    params: Mapping[str, Any]  # those that differ from what the form began with
    placement: Placement
    options: Any  # of the form's model


@dataclass(frozen=True)
class StudyForm:
    """The form of a kind of study.

    `options` is a pydantic model of the study's own settings. `plan` plans the study and raises BadInput. `takes` says
    whether a workload can be studied. `start` returns the params with which the kind begins if they differ from the
    workload's defaults. `hidden` returns the params that the kind sets itself. `placement` names the fields of a
    placement that can be set. The form whose `order` is lowest comes first.
    """

    title: str
    options: type[BaseModel]
    plan: Callable[[StudyRequest], Planned]
    takes: Callable[[Workload], bool]
    start: Callable[[Workload, Any], Mapping[str, Any]] = lambda workload, options: {}
    hidden: Callable[[Workload], Collection[str]] = lambda workload: ()
    placement: Collection[str] = ()
    order: int = 500
