"""Plan a guided study, in its quick or its thorough setting, and begin it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import USUAL_MPI, Placement
from workshop.extension import Params
from workshop.mpi import inventory
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.grid.plan import scaling_of
from workshop.study.guided.guide import Guide, Step
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.trials import description
from workshop.study.tune.plan import tuning_of

if TYPE_CHECKING:
    from workshop.study.guided.step_results import StepResults


def naive(cores: int) -> Placement:
    """The naive start: `mpirun -n 1` of a program that starts a thread for each core. mpirun binds the rank to one
    core, which all these threads share."""
    return Placement(ranks=1, map_by="core", bind_to="core", threads=cores)


def place(ranks: int, threads: int, cores: int) -> Placement:
    """Ranks with a core for each thread if there are enough cores, else unbound on all cores."""
    if ranks * threads <= cores:
        return Placement(ranks=ranks, cores_per_rank=threads, threads=threads)
    return Placement(ranks=ranks, threads=threads, bind_to="none", oversubscribe=ranks > cores)


def with_variables(placement: Placement, variables: Mapping[str, str]) -> Placement:
    """The placement with these variables set on its ranks."""
    return placement.model_copy(update={"environment": dict(sorted({**placement.environment, **variables}.items()))})


def key(params: Mapping[str, Any], placement: Mapping[str, Any]) -> str:
    """A key that is equal for trials that do the same: params, and the placement with all variables of its ranks."""
    where = Placement.parse(placement)
    identity = where.as_json() | {"environment": where.rank_environment(), "threads": None}
    return json.dumps([dict(params), identity], sort_keys=True)


def points(findings: StepResults, step: Step) -> Iterator[dict[str, Any]]:
    """All points of a step's grid."""
    named = {**findings.setting.values, "means": tuple(step.means)}
    for values in product(*(named[values] if isinstance(values, str) else values for values in step.vary.values())):
        yield dict(zip(step.vary, values, strict=True))


def crowded(findings: StepResults, point: Mapping[str, Any]) -> bool:
    """Whether the quick setting leaves a point out, because it has more than two threads for a core."""
    return findings.setting.quick and point.get("ranks", 0) * point.get("threads", 0) > 2 * findings.setting.cores


QUICK, THOROUGH = "quick", "thorough"
LARGEST = 64  # ranks that any step starts
EIGHT = 8  # most ranks in the comparison of evaluation, in which a single rank reads the images of all


@dataclass(frozen=True)
class Setting:
    """A guided study's checked description."""

    guide: Guide
    setting: str  # quick or thorough
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
        without = ("guide",) if self.hosts else ("guide", "hosts")
        return {**description(self, *without), "steps": list(self.steps), "title": self.guide.title}

    def trials(self) -> list[Trial]:
        """No trials: each step is planned when the steps before it have been run."""
        return []

    @classmethod
    def read(cls, guide: Guide, description: Mapping[str, Any]) -> Setting:
        """A setting from what the store has."""
        fields = {"hosts": (), **description}
        fields = {name: fields[name] for name in cls.__dataclass_fields__ if name != "guide"}
        fields |= {name: tuple(fields[name]) for name in ("mpis", "hosts")}
        return cls(guide, **{**fields, "steps": "".join(fields["steps"])})

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
    total_share = _divisible(scaling.share, checked[scaling.share], setting.ranks, scaling.share in given_params)
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

    setting: Literal["quick", "thorough"] = Field("quick", description="few trials, or larger grids and three repeats")
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
