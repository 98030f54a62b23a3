"""What the guided study is asked to do, in its quick or its thorough setting; and beginning one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workshop import registry
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import USUAL_MPI
from workshop.mpi import inventory
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.guide import Guide
from workshop.study.trials import description

QUICK, THOROUGH = "quick", "thorough"
LARGEST = 64  # ranks that any step starts
EIGHT = 8  # ranks up to which evaluation is compared: one rank alone has to read as many images as all of them


@dataclass(frozen=True)
class Setting:
    """A guided study's description, checked."""

    guide: Guide
    setting: str  # quick or thorough
    cores: int  # of the machine that the ranks of all trials share
    mpis: tuple[str, ...]  # those that are there
    params: Mapping[str, Any]  # of every trial, `batch` being that of all ranks together
    steps: str  # those that are wanted, for instance "bc"
    rate: str  # the metric that is compared
    unit: str

    @property
    def name(self) -> str:
        return self.setting

    @property
    def quick(self) -> bool:
        return self.setting == QUICK

    @property
    def repeats(self) -> int:
        """How often a cell is run that is run more than once."""
        return 2 if self.quick else 3

    @property
    def ranks(self) -> tuple[int, ...]:
        """Numbers of ranks to compare, ascending."""
        return self.values["ranks"]

    @cached_property
    def values(self) -> Mapping[str, tuple[int, ...]]:
        """The values of axes that depend on the machine, by the names that steps have for them."""
        cores, threads = self.cores, _numbers(self.cores, self.quick)
        ranks = tuple(number for number in threads if number <= LARGEST)
        few = tuple(number for number in ranks if number <= max(cores, 2))
        return {
            "cores": tuple(sorted({1, cores})),
            "threads": threads,
            "inter_op": tuple(sorted({0, 1, cores} if self.quick else {0, 1, cores, 2 * cores})),
            "intra_op": threads if self.quick else (0, *threads),
            "ranks": ranks,
            "few_ranks": few if max(few) <= EIGHT else (1, EIGHT // 2, EIGHT),
        }

    def description(self) -> dict[str, Any]:
        return {**description(self, "guide"), "steps": list(self.steps), "title": self.guide.title}

    def trials(self) -> list[Trial]:
        """None to begin with: each step is planned when those before it have been run."""
        return []

    @classmethod
    def read(cls, guide: Guide, description: Mapping[str, Any]) -> Setting:
        """A setting from what the store has."""
        told = {name: description[name] for name in cls.__dataclass_fields__ if name != "guide"}
        return cls(guide, **{**told, "mpis": tuple(told["mpis"]), "steps": "".join(told["steps"])})

    def wanting(self, steps: str, mpis: Iterable[str] | None = None) -> Setting:
        """The same with these steps wanted now, and the MPIs that are there by now."""
        return replace(self, steps=self.guide.chosen(steps), mpis=self.mpis if mpis is None else in_order(mpis))


def plan(
    guide: Guide,
    given: Mapping[str, Any],
    cores: int,
    mpis: Iterable[str] = (USUAL_MPI,),
    *,
    thorough: bool = False,
    steps: str | None = None,
) -> Setting:
    """A guided study of some `steps` (None: all) from the workload's params that were `given`; `batch` is that of all
    ranks together. Raises BadInput with one sentence."""
    of = workload(guide.workload)
    if of.scaling is None:
        raise BadInput(f"The workload {of.name} doesn't tell how fast it is, so there is nothing to compare.")
    taken = next((name for name in given if name in guide.taken), None)
    if taken is not None:
        raise BadInput(f"{taken} can't be set: the guided study varies it itself, or holds it for all its trials.")
    name = THOROUGH if thorough else QUICK
    wanted = guide.keys if steps is None else steps
    setting = Setting(guide, name, max(cores, 1), in_order(mpis), {}, wanted, of.scaling.rate, of.scaling.unit)
    checked = of.check({"iterations": guide.iterations[name], **given}).model_dump(mode="json")
    batch = _batch(checked["batch"], setting.ranks, "batch" in given)
    # What nobody has set is left to the workload, so that studies read the same when its defaults are the same.
    params = {key: checked[key] for key in ("iterations", *given)} | {"batch": batch}
    return replace(setting, params=params)


def plan_here(
    guide: Guide,
    session: SessionRecord | None,
    given: Mapping[str, Any],
    *,
    thorough: bool = False,
    steps: str | None = None,
) -> Setting:
    """A guided study for the machine of a session, or for this one. Raises BadInput."""
    machine = session.machine if session is not None and session.machine.get("units") else topology.machine()
    local = session is None or session.site.get("kind") == "local"
    cores = topology.allowed_cores(machine) if local else len({unit["core"] for unit in machine["units"]})
    return plan(guide, given, cores, inventory.installed(), thorough=thorough, steps=steps)


def begin(store: Store, setting: Setting, submitted_by: str = "") -> StudyRecord:
    """Keep a guided study, of which nothing is run yet, so that a class can predict what will come out of it."""
    return store.create_study(setting.guide.kind, setting.guide.workload, setting.description(), [], submitted_by)


def ask_for(guide: Guide, store: Store, study_id: int, steps: str) -> StudyRecord:
    """Have a guided study find out what these steps lack, with the MPIs that are here by now; what it has it keeps.
    Nothing is run yet. Raises BadInput where somebody works on it."""
    with runner.working_on(store, study_id) as me:
        setting = Setting.read(guide, store.study(study_id).description)
        store.ask_study(study_id, me, setting.wanting(steps, inventory.installed()).description())
    return store.study(study_id)


def in_order(mpis: Iterable[str]) -> tuple[str, ...]:
    """MPIs in the order in which they are shown."""
    there = set(mpis)
    return tuple(name for name in registry.mpis() if name in there)


def read_steps(guide: Guide, text: str | None) -> str:
    """Steps from words like "a,b" or "ab"; all of them where none is given. Raises BadInput."""
    if text is None:
        return guide.keys
    given = [letter for letter in text.lower() if letter not in ", "]
    if not given or not set(given) <= set(guide.keys):
        raise BadInput(f"--steps {text}: the steps are {guide.keys[0]} to {guide.keys[-1]}, for instance --steps b,c.")
    return guide.chosen("".join(given))


def _numbers(cores: int, quick: bool) -> tuple[int, ...]:
    """1 to twice the cores: half of them, all and twice as many, or every power of two, too, and four times as many.
    Only those that divide four times the cores: all numbers of ranks have to divide one batch, which has to stay small.
    """
    few = {1, max(cores // 2, 1), cores, 2 * cores}
    more = {2**power for power in range(int(math.log2(4 * cores)) + 1)}
    return tuple(number for number in sorted(few if quick else few | more) if 4 * cores % number == 0)


def _batch(batch: int, ranks: Sequence[int], given: bool) -> int:
    """The batch of all ranks together, which every number of ranks has to divide: a rounded one would be other work."""
    multiple = math.lcm(*ranks)
    near = max(math.ceil(batch / multiple), 1) * multiple
    if given and near != batch:
        odd = next(number for number in ranks if batch % number)
        raise BadInput(
            f"batch is {batch}, which {odd} ranks can't divide among them; all ranks share the batch, so give one that "
            f"does, such as --set batch={near}."
        )
    return near
