"""A guided study as data; plan it, in its quick or its thorough setting, and begin it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field

from workshop import mpi
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import USUAL_MPI
from workshop.extension import Params
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.registry import workload
from workshop.report.rules import Rule, Text
from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.grid.plan import scaling_of
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
    return plan(guide, given_params, cores, mpi.installed(), thorough=thorough, steps=steps, hosts=hosts)


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
        store.ask_study(study_id, me, setting.wanting(steps, mpi.installed()).description())
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


class Step(BaseModel, frozen=True, extra="forbid"):
    """One step: a question to learners, the grid that answers it, and what is said of the result.

    `vary` has the axes of the grid: params, `env.NAME` (a variable of the ranks) or fields of the placement, with their
    values, or with the name of values that depend on the machine (`plan.Setting.values`). `changes` says what a value
    stands for. `label` is the label of a cell by its values, for which `names` has other names.

    `number` are the unit, the least, the largest, and the step of a guess that is a number; without it, the guess is
    the fastest cell. `answer` names the number among the facts (`step_results.facts`), and `answer`_margin its
    uncertainty. The first of `rules` that holds is the verdict; `sentences` can be used like facts in it.
    """

    key: str
    short: str  # for a row of buttons
    title: str
    asks: str
    question: str
    number: tuple[Any, ...] = ()
    answer: str = "gain"
    vary: Mapping[str, tuple[Any, ...] | str] = {}
    changes: Mapping[str, Mapping[str, Any]] = {}
    label: str = "{}"
    names: Mapping[Any, str] = {}
    means: Mapping[str, str] = {}  # explanations of its settings
    length: Mapping[str, int] = {}  # of its trials, by the name of the setting
    params: Mapping[str, Any] = {}
    horovod: Mapping[str, Any] = {}  # params where Horovod is built
    best_of: str = ""  # an earlier step, whose fastest placement of several ranks it takes
    own_batch: bool = False  # each rank has a batch of its own, and all numbers of ranks read as many images
    repeat: int | Literal["all"] = 0  # how many of the fastest cells are repeated
    overall: bool = False  # it compares work over training and evaluation together
    anew: bool = False  # the last step: stages on top of each other, all measured anew
    figure: str = "grid"
    published: str
    explain: str
    sentences: Mapping[str, Text] = {}
    rules: tuple[Rule, ...]

    def name(self, value: Any) -> str:
        """A value of an axis in a cell's label."""
        return self.names.get(value, self.names.get("other", str(value)))


class Guide(BaseModel, frozen=True, extra="forbid"):
    """A guided study. Its workload names the param that ranks share (`Scaling.share`) and the one that sets the length
    of a trial (`Tuning.length`).

    A value of `params` that is the name of a param of the study, or `cores`, stands for its value. The capability's own
    functions are references: `stages(findings)` returns the cells of the last step, `facts(findings, step, order)`
    further facts of a step (`order`: its measured cells, the best first), and `figures` are its own figures
    (`cards.Figures`).
    """

    kind: str
    workload: str
    title: str
    reference: str  # the publication that the study follows, in a word
    source: str  # the same in full
    others: str  # a sentence that stands beside its figures
    page: str  # the title of the page that shows it
    reserved: frozenset[str]  # params that nobody may set: steps vary them, or hold them for all trials
    length: Mapping[str, int]  # of a trial, by the name of the setting
    params: Mapping[str, Any] = {}  # of every trial
    events: str = ""  # the name of events that its facts need
    steps: tuple[Step, ...]
    stages: str = ""
    facts: str = ""
    figures: str = ""
    hosts: int = 0  # that its session needs; 0: any session
    start: str = ""  # a command that starts such a session

    @classmethod
    def read(cls, package: str) -> Guide:
        """The guide in the file steps.yaml of a package."""
        text = files(package).joinpath("steps.yaml").read_text(encoding="utf-8")
        # The loader in C takes a tenth of the time.
        return cls(**yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))

    @cached_property
    def keys(self) -> str:
        """The letters of all steps."""
        return "".join(step.key for step in self.steps)

    @cached_property
    def anew(self) -> str:
        """The letter of the step that measures everything anew; "" if there is none."""
        return next((step.key for step in self.steps if step.anew), "")

    def step(self, key: str) -> Step:
        """The step of that letter."""
        return self.steps[self.keys.index(key)]

    def chosen(self, keys: str) -> str:
        """Those letters that are steps, in the steps' order."""
        return "".join(key for key in self.keys if key in keys)
