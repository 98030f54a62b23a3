"""Beginning a guided study, and having one that is there find out more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import topology
from workshop.mpi import prefix
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided import expecting
from workshop.study.guided.plan import KIND, STEPS, WORKLOAD, Estimate, Setting, plan
from workshop.study.kinds import Sofar


def here(
    session: SessionRecord | None, given: Mapping[str, Any], *, thorough: bool = False, steps: str = STEPS
) -> Setting:
    """A guided study for the machine of a session, or for this one. Raises BadInput."""
    machine = session.machine if session is not None and session.machine.get("units") else topology.machine()
    local = session is None or session.site.get("kind") == "local"
    cores = topology.allowed_cores(machine) if local else len({unit["core"] for unit in machine["units"]})
    return plan(workload(WORKLOAD), given, cores, there(), thorough=thorough, steps=steps)


def there() -> list[str]:
    """The MPIs that are here."""
    return ["openmpi", *prefix.installed()]


def begin(store: Store, setting: Setting, submitted_by: str = "") -> StudyRecord:
    """Keep a guided study, of which nothing is run yet, so that a class can predict what will come out of it."""
    return store.create_study(KIND, WORKLOAD, setting.description(), [], submitted_by)


def want(store: Store, study_id: int, steps: str) -> StudyRecord:
    """Have a guided study find out what these steps lack, with the MPIs that are here by now; what it has it keeps.
    Nothing is run yet. Raises BadInput where somebody works on it."""
    with runner.working_on(store, study_id) as me:
        setting = Setting.read(store.study(study_id).description)
        store.ask_study(study_id, me, setting.wanting(steps, there()).description())
    return store.study(study_id)


def expected_of(store: Store, setting: Setting) -> Estimate:
    """How many runs a study that isn't there yet will want, and how long they are likely to take."""
    nothing = StudyRecord(0, KIND, WORKLOAD, setting.description(), "interrupted", "", 0.0, None, 0, 0, 0)
    return expecting.expected(store, Sofar(nothing, [], {}))
