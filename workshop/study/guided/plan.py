"""Plan a guided study, in its quick or its thorough setting, and begin it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import USUAL_MPI
from workshop.extension import Params
from workshop.mpi import inventory
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.grid.plan import scaling_of
from workshop.study.guided.guide import Guide
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.results import ENOUGH
from workshop.study.trials import description
from workshop.study.tune.plan import tuning_of

QUICK, THOROUGH = "quick", "thorough"
LARGEST = 64  # ranks that any step starts
EIGHT = 8  # most ranks in the comparison of evaluation, in which a single rank reads the images of all


@dataclass(frozen=True)
class Setting:
    """A guided study's checked description."""

    guide: Guide
    name: str  # quick or thorough
    cores: int  # of the machine that the ranks of all trials share
    mpis: tuple[str, ...]  # the installed ones
    params: Mapping[str, Any]  # of every trial; the param that ranks share is the total
    steps: str  # the chosen steps, for instance "bc"
    rate: str  # the metric that is compared
    unit: str
    hosts: tuple[str, ...] = ()  # of the session; empty where the guide needs none

    @property
    def kind(self) -> str:
        return self.guide.kind

    @property
    def workload(self) -> str:
        return self.guide.workload

    @property
    def quick(self) -> bool:
        return self.name == QUICK

    @property
    def repeats(self) -> int:
        """How often a cell is run that is run more than once."""
        return ENOUGH

    @cached_property
    def values(self) -> Mapping[str, tuple[int, ...]]:
        """The values of axes that depend on the machine, by their names in the steps."""
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
        without = ("guide", "name") if self.hosts else ("guide", "name", "hosts")
        fields = {**description(self, *without), "steps": list(self.steps)}
        return {"setting": self.name, **fields, "title": self.guide.title}

    def trials(self) -> list[Trial]:
        """No trials: each step is planned when the steps before it have been run."""
        return []

    @classmethod
    def read(cls, guide: Guide, description: Mapping[str, Any]) -> Setting:
        """A setting from what the store has."""
        fields = {name: description[name] for name in ("cores", "params", "rate", "unit")}
        mpis, hosts = tuple(description["mpis"]), tuple(description.get("hosts", ()))
        return cls(guide, description["setting"], mpis=mpis, hosts=hosts, steps="".join(description["steps"]), **fields)

    def wanting(self, steps: str, mpis: Iterable[str] | None = None) -> Setting:
        """The same study with these steps and MPIs."""
        return replace(self, steps=self.guide.chosen(steps), mpis=self.mpis if mpis is None else in_order(mpis))


def plan(
    guide: Guide,
    given_params: Mapping[str, Any],
    cores: int,
    mpis: Iterable[str] = (USUAL_MPI,),
    *,
    thorough: bool = False,
    steps: str | None = None,
    hosts: Sequence[str] = (),
) -> Setting:
    """A guided study of some `steps` (None: all) with the given params of the workload. The param that ranks share
    (`Scaling.share`) is the total of all ranks. Raises BadInput with one sentence."""
    if len(hosts) < guide.hosts:
        raise BadInput(
            f"The guided study {guide.kind} needs a session on {guide.hosts} hosts, but this session has "
            f"{len(hosts) or 1}; start one on emulated hosts: {guide.start}"
        )
    chosen = workload(guide.workload)
    scaling, length = scaling_of(chosen), tuning_of(chosen).length
    reserved = next((name for name in given_params if name in guide.reserved), None)
    if reserved is not None:
        raise BadInput(f"{reserved} can't be set: the guided study varies it itself, or holds it for all its trials.")
    name = THOROUGH if thorough else QUICK
    chosen_steps = guide.keys if steps is None else steps
    rate, unit, hosts = scaling.rate, scaling.unit, tuple(hosts[: guide.hosts])
    setting = Setting(guide, name, max(cores, 1), in_order(mpis), {}, chosen_steps, rate, unit, hosts)
    checked = chosen.check({length: guide.length[name], **given_params}).model_dump(mode="json")
    total_share = _divisible(
        scaling.share, checked[scaling.share], setting.values["ranks"], scaling.share in given_params
    )
    # Only set params are stored, so that studies with the same defaults have equal descriptions.
    params = {key: checked[key] for key in (length, *given_params)} | {scaling.share: total_share}
    return replace(setting, params=params)


def plan_here(
    guide: Guide,
    session: SessionRecord | None,
    given_params: Mapping[str, Any],
    *,
    thorough: bool = False,
    steps: str | None = None,
) -> Setting:
    """A guided study for the machine of a session, or for this one. Raises BadInput."""
    machine = session.machine if session is not None and session.machine.get("units") else topology.machine()
    local = session is None or session.site.get("kind") == "local"
    cores = topology.allowed_cores(machine) if local else len({unit["core"] for unit in machine["units"]})
    hosts = [host["name"] for host in (session.placement.get("hosts") or ())] if session is not None else []
    return plan(guide, given_params, cores, inventory.installed(), thorough=thorough, steps=steps, hosts=hosts)


class GuidedOptions(Params):
    """Settings of a guided study."""

    setting: Literal["quick", "thorough"] = Field("quick", description="few trials, or larger grids")
    steps: str = Field("", description="some of the steps, with commas between them; empty: all")


def form(guide: Guide) -> StudyForm:
    """The form of a guided study."""

    def planned(request: StudyRequest) -> Setting:
        steps, thorough = read_steps(guide, request.options.steps or None), request.options.setting == THOROUGH
        return plan_here(guide, request.session, request.params, thorough=thorough, steps=steps)

    return StudyForm(
        f"Guided study: {guide.title[0].lower()}{guide.title[1:]}",
        GuidedOptions,
        planned,
        takes=lambda workload: workload.name == guide.workload,
        hidden=lambda workload: {*guide.reserved, tuning_of(workload).length},
        order=400,
    )


def ask_for(guide: Guide, store: Store, study_id: int, steps: str) -> StudyRecord:
    """Ask a guided study for these steps, with the MPIs that are installed now. It keeps its results. Nothing is run
    yet. Raises BadInput if somebody else runs the study."""
    with runner.working_on(store, study_id) as me:
        setting = Setting.read(guide, store.study(study_id).description)
        store.ask_study(study_id, me, setting.wanting(steps, inventory.installed()).description())
    return store.study(study_id)


def in_order(mpis: Iterable[str]) -> tuple[str, ...]:
    """MPIs in the order in which they are shown."""
    installed = set(mpis)
    return tuple(name for name in IMPLEMENTATIONS if name in installed)


def read_steps(guide: Guide, text: str | None) -> str:
    """Steps from words like "a,b" or "ab"; all steps by default. Raises BadInput."""
    if text is None:
        return guide.keys
    letters = [letter for letter in text.lower() if letter not in ", "]
    if not letters or not set(letters) <= set(guide.keys):
        raise BadInput(f"--steps {text}: the steps are {guide.keys[0]} to {guide.keys[-1]}, for instance --steps b,c.")
    return guide.chosen("".join(letters))


def _numbers(cores: int, quick: bool) -> tuple[int, ...]:
    """Numbers from 1 to twice the cores: half of the cores, all and twice as many; in the thorough setting also the
    powers of two up to four times the cores. Only divisors of four times the cores are included: every number of ranks
    has to divide the shared param, which has to stay small."""
    few = {1, max(cores // 2, 1), cores, 2 * cores}
    more = {2**power for power in range(int(math.log2(4 * cores)) + 1)}
    return tuple(number for number in sorted(few if quick else few | more) if 4 * cores % number == 0)


def _divisible(name: str, value: int, ranks: Sequence[int], fixed: bool) -> int:
    """The nearest value of a param that every number of ranks divides. A rounded part would be other work. Raises
    BadInput if somebody has set a value that can't be divided."""
    multiple = math.lcm(*ranks)
    near = max(math.ceil(value / multiple), 1) * multiple
    if fixed and near != value:
        odd = next(number for number in ranks if value % number)
        raise BadInput(
            f"{name} is {value}, which {odd} ranks can't divide among them; all ranks share the {name}, so give one "
            f"that does, such as --set {name}={near}."
        )
    return near
