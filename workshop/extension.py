"""The contract: the parts that a capability, built in or from another package, can add to the workshop.

A package names one `Extension` in its entry points, in the group `workshop.extensions`:

    [project.entry-points."workshop.extensions"]
    hello = "hello_workshop:EXTENSION"

and builds it from the descriptions in this file:

    EXTENSION = Extension(workloads=(Workload(name="hello", title="Hello", summary="Greets.", params=HelloParams,
                                              function="hello_workshop.ranks:run"),))

A description is plain data. The work itself is named by a reference, `"module:name"`, and is
imported when somebody needs it. So a description costs nothing, and `workshop --help` stays fast. All built-in
capabilities use this file and nothing else. An extension that is broken is named on standard error and left out.

`workshop new workload NAME` writes such a package; docs/extending.md has an example of everything that it can bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from workshop.core import extras
from workshop.core.errors import BadInput, bad_input

if TYPE_CHECKING:
    from workshop.core.placement import Host, Placement

Artifacts = Callable[[int, str], bytes]  # (run, name) -> the file that the run left; raises BadInput
MOST_RESULTS = 8  # metrics that are shown first
MOST_PRESETS = 4  # of a workload, so that the form stays short
OUTPUT = "output.txt"  # the artifact whose text the command line prints: lines as a program prints them
MESSAGES = "messages.json"  # the artifact with the messages between ranks, where they were counted
Side = Literal["broken", "fixed"]  # the two runs of a guided failure
Group = Literal["home", "labs", "run", "explore", "quiz", "class"]  # the dashboard's places, in their order
SIDES: tuple[Side, ...] = get_args(Side)


def load(reference: str) -> Any:
    """Import what a reference `"module:name"` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def no_artifacts(run_id: int, name: str) -> bytes:
    """The artifacts of earlier runs where there is no store."""
    raise BadInput(f"Without a session there is no run {run_id}; give the path of its {name} instead.")


# Workloads.


class Params(BaseModel):
    """Base of every workload's params: frozen, all numbers are finite, and an unknown setting is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Scaling:
    """A workload's description for scaling studies.

    `rate` names the metric of the work that all ranks together do in a second, in `unit`.
    `share` names the param that is each rank's work in a step: strong scaling divides it among the ranks; empty: the
    workload itself divides its work. `total` names the param that weak scaling multiplies by the ranks; empty: the
    work grows with the ranks by itself. `strong` are params that strong scaling sets unless somebody else does.
    `live` names the event by which rank 0 tells, while the run goes on, how much work all ranks did per second; empty:
    that is known at the end only.
    """

    rate: str
    unit: str
    share: str = ""
    total: str = ""
    strong: Mapping[str, Any] = field(default_factory=dict)
    live: str = ""


@dataclass(frozen=True)
class Tuning:
    """The tuner's description of a workload that can be compared over placements.

    `short` are the params that only a trial has, unless somebody else sets them: it measures two to four seconds on
    two cores. `length` names the one of them that says for how long (steps), `seconds` the part of the metric `seconds`
    in which it is measured. `load` are params of the work itself that are better to tune on than the usual ones.
    `knobs` are params that change how fast the work is done and nothing of what comes out, each with its values, those
    that are known to be good first; `env.NAME` is a variable of the ranks. `missing` is a reference to a function of
    the installed MPIs, which returns those values that can't be had on this machine, each with the reason; empty:
    all can be had. `usable` is a reference to a function `(values, mpi, ranks)` of the knobs' values: it returns those
    that do the same there, so that nothing is tried twice, or None where they don't go with the MPI; empty: all go with
    all.
    """

    short: Mapping[str, Any]
    length: str
    seconds: str
    load: Mapping[str, Any] = field(default_factory=dict)
    knobs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    missing: str = ""
    usable: str = ""


@dataclass(frozen=True)
class Preset:
    """Settings that a form can begin with: `params` and fields of a `placement`, as far as they differ from the usual
    ones. `shows` is what to look for, in a sentence. `per_core` is how many ranks each core of the session's machine
    gets; 0: the placement says how many ranks there are."""

    title: str
    shows: str
    params: Mapping[str, Any] = field(default_factory=dict)
    placement: Mapping[str, Any] = field(default_factory=dict)
    per_core: int = 0

    def placement_on(self, cores: int) -> dict[str, Any]:
        """The fields of the placement on a machine with so many cores."""
        return {**self.placement, **({"ranks": self.per_core * cores} if self.per_core and cores else {})}


@dataclass(frozen=True)
class RunPrediction:
    """The number that people predict before a run: `metric` names the result, and `question` asks for it in `unit`. A
    metric that is a share is asked in %, with a `scale` of 100."""

    metric: str
    question: str
    unit: str
    scale: float = 1.0


@dataclass(frozen=True)
class Workload:
    """A function `(ctx, params) -> metrics` that runs on every rank, and what the platform knows of it beforehand.

    `function` is a reference, imported on ranks only. `inputs(params, artifacts)` runs where the run is
    submitted, with the rights of whoever submits it: it reads the files that params name and returns their bytes, which
    reach every rank as `ctx.inputs`; it raises BadInput for whatever can be known to be wrong beforehand. `artifacts`
    reads what an earlier run has left. `fits(params, inputs, ranks)` raises BadInput there for what so many ranks can't
    do. `processes(params)` is how many processes a run starts beside its ranks; a learner's limit counts them like
    ranks. `curves` names the events that pages draw, the most important first; None: the page chooses. `results` names
    the metrics that matter first, at most eight; all others are shown on request. `notes` says of events by name what
    their curve means, in a sentence. `scaling` is None where the workload can't be compared over numbers of ranks,
    `tuning` where the tuner can't try it.
    `trains` says that its ranks import TensorFlow. `extra` is the extra of the workshop's package whose libraries it
    needs (`core.extras`); empty: the extra training where it `trains`, otherwise none. `compile` is a reference to a
    function that the installation calls, so that the first run doesn't wait for what it compiles; empty: there is
    nothing to compile. Lists have workloads in
    the order of their `order`, lowest first, and forms begin with the first. `metrics` says what metrics are called, by
    name, a part of one by `seconds.fit`; their unit is in brackets: "throughput [points/s]". `presets` are settings to
    begin with, at most four. `prediction` is what a form asks people to predict. `star` is the card that a run's page
    and the projector show large; empty: the first of `curves`. `lab` is the name of the lab that explains it. Raises
    ValueError for more than eight `results` or four `presets`.

    `tolerates(params)` says whether a run goes on without ranks that are lost: its ranks are started so that they can.
    `restarts(params)` is how often a run that has lost a rank begins again on new ranks; they get the files that it has
    kept as inputs, under their names behind "restart/", and "restart/attempt.json" with the failures so far.

    `threads(params)` is how many threads a rank computes with, whatever its placement allows; None where it uses all.
    `rules` is the package whose `rules.yaml` says what a run means; empty: only what is said of every run.
    `panels` is a reference to a sequence of `Panel`s, `failures` to a `FailuresOf`, `missing`
    to a function that says in a sentence what isn't installed and who installs it, "" where all is; all may be empty.
    """

    name: str
    title: str
    summary: str
    params: type[Params]
    function: str
    inputs: Callable[[Any, Artifacts], Mapping[str, bytes]] | None = None
    fits: Callable[[Any, Mapping[str, bytes], int], None] | None = None
    processes: Callable[[Any], int] | None = None
    tolerates: Callable[[Any], bool] | None = None
    restarts: Callable[[Any], int] | None = None
    curves: tuple[str, ...] | None = None
    results: tuple[str, ...] = ()
    metrics: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    scaling: Scaling | None = None
    tuning: Tuning | None = None
    trains: bool = False
    extra: str = ""
    compile: str = ""
    order: int = 500
    rules: str = ""
    panels: str = ""
    failures: str = ""
    missing: str = ""
    threads: Callable[[Mapping[str, Any]], int | None] | None = None
    presets: tuple[Preset, ...] = ()
    prediction: RunPrediction | None = None
    star: str = ""
    lab: str = ""

    def __post_init__(self) -> None:
        if len(self.presets) > MOST_PRESETS:
            raise ValueError(f"the workload {self.name!r} names {len(self.presets)} presets; at most {MOST_PRESETS}")
        if len(self.results) > MOST_RESULTS:
            raise ValueError(f"the workload {self.name!r} names {len(self.results)} results; at most {MOST_RESULTS}")

    def check(self, values: Mapping[str, Any]) -> Params:
        """Validate params. Raises BadInput with one sentence."""
        try:
            return self.params.model_validate(dict(values))
        except ValidationError as error:
            raise bad_input(error, self.name) from error

    def load(self) -> Callable[..., Mapping[str, Any]]:
        """Import the function that ranks run."""
        function: Callable[..., Mapping[str, Any]] = load(self.function)
        return function

    def lacks(self) -> str:
        """Say what isn't installed and who installs it; "" where the workload can run on this machine."""
        extra = self.extra or (extras.TRAINING if self.trains else "")
        sentence = extras.lacks(f"The workload {self.name}", extra) if extra else ""
        return sentence or (str(load(self.missing)()) if self.missing else "")


@dataclass(frozen=True)
class ProgramPrediction:
    """A guided failure's own question: `options`, of which `answer` is right, and the `program` that is shown with it.
    `explanation`, in a sentence, is shown with the answer when the run has ended."""

    question: str
    options: tuple[str, ...]
    answer: str
    program: str
    explanation: str


@dataclass(frozen=True)
class Failure:
    """A guided failure: a run with a mistake, and a run without it. Both are runs of one workload, and can be compared.

    A mistake in the placement has two placements and the same params. A mistake in the params has two sets of params
    beside `params`, and one placement or none, which is the session's. A failure in which the two runs don't differ has
    the run with the mistake alone. `prediction` replaces the question that learners answer before they may run it.
    Failures with the lowest `order` come first.
    """

    name: str
    title: str
    shows: str  # what it teaches, in one sentence
    workload: str
    params: Mapping[str, Any]  # of both runs
    broken: Placement | None
    fixed: Placement | None
    look_for: str
    verdict: str  # words in the verdict of the run with the mistake
    needs_hosts: bool = False  # whether it is about a session over several hosts
    order: int = 500
    broken_params: Mapping[str, Any] = field(default_factory=dict)
    fixed_params: Mapping[str, Any] = field(default_factory=dict)
    fix: str = ""  # what mends it, in one sentence
    mended: str = ""  # words in the verdict of the run without the mistake
    command: tuple[str, ...] = ()  # in place of `workshop run WORKLOAD`; such a failure is typed, and has no buttons
    prediction: ProgramPrediction | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """The runs that it has."""
        return SIDES if self.in_placement or self.broken_params != self.fixed_params else ("broken",)

    @property
    def in_placement(self) -> bool:
        """Whether the mistake is in the placement; otherwise it is in the params."""
        return self.broken != self.fixed

    def placements(self) -> dict[Side, Placement | None]:
        """The placement of each run; None stands for the session's."""
        return {"broken": self.broken, "fixed": self.fixed}

    def params_of(self, side: Side) -> dict[str, Any]:
        """All params of one of the two runs."""
        return {**self.params, **(self.broken_params if side == "broken" else self.fixed_params)}

    def as_json(self) -> dict[str, Any]:
        """The failure with its placements in their stored form."""
        fields = {name: value for name, value in vars(self).items() if name not in ("order", "prediction")}
        return fields | {side: placement and placement.as_json() for side, placement in self.placements().items()}


# (cores, hosts, mpis) -> guided failures for a machine with so many cores, or for each of several hosts with so many;
# `hosts` are those of the session, or two examples, and `mpis` are the names of the MPIs that are installed.
FailuresOf = Callable[[int, "Sequence[Host]", Collection[str]], Sequence[Failure]]


# Everything else that a capability can bring.


@dataclass(frozen=True)
class Study:
    """A kind of study: runs that are compared with each other.

    `kind` is a reference to a `workshop.study.kinds.Kind`, which says all of it. `plan` is a reference to a function
    `(store, session, workload, settings)`, which plans it from a notebook; empty: notebooks can't ask for it.
    `workload` is the one that it is about unless somebody names another one. `form` is a reference to a
    `workshop.study.kinds.StudyForm`, by which a page plans it; empty: no page can. `page` is the name of the page that
    lists studies of this kind; the page Studies lists all. The page's function is `workshop.web.pages.studies:page`, or
    calls it.
    """

    name: str
    kind: str
    plan: str = ""
    workload: str = ""
    form: str = ""
    page: str = ""


@dataclass(frozen=True)
class Page:
    """A page of the dashboard.

    `function` is a reference to one without parameters that draws it with Streamlit and with the blocks of
    `workshop.web.pages`. `group` is the place of the navigation in which the page stands, in the order of `order`,
    lowest first. A page of the place Explore has a card there, with its `summary`, one sentence, and its `picture`, an
    SVG file. `roles` are those who see the page. Raises ValueError where the name can't be an address.
    """

    name: str  # in its address: small letters, digits, _ and -
    title: str
    icon: str  # of Material Symbols, such as "school"
    function: str
    order: int = 500
    roles: Collection[Literal["learner", "instructor"]] = ("learner", "instructor")
    group: Group = "explore"
    summary: str = ""
    picture: Path | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", self.name) or not self.title.strip():
            raise ValueError(f"the page {self.name!r} needs a title, and a name like hello-2, which fits an address")


@dataclass(frozen=True)
class Lab:
    """A folder with a notebook, its exercises' checks, and what else `workshop labs check` asks for. The folder's name
    is that of the lab. The lab's deck comes through `Decks`; a deck in the lab's folder stands in the list of all decks
    where the lab's `order` says, the lowest first."""

    folder: Path
    order: int = 500

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class Decks:
    """A folder whose folders hold a deck of questions each, as `quiz.yaml`."""

    folder: Path


@dataclass(frozen=True)
class Command:
    """A command of the command line: `workshop GROUP NAME`, or `workshop NAME` without a group.

    `function` is a reference to a function with Typer's annotations, or to a Typer app. Its docstring is the help.
    `options` are the settings with which Typer takes the function in. A group's help lists its commands in the order of
    their `order`, lowest first.
    """

    group: str
    name: str
    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    order: int = 500


@dataclass(frozen=True)
class Check:
    """A check of `workshop doctor`. A check that isn't `needed` may fail without harm to sessions and runs."""

    name: str
    ok: bool
    detail: str  # what was found
    fix: str = ""  # one sentence, where it isn't ok
    needed: bool = True


@dataclass(frozen=True)
class Extension:
    """All that a package brings. `checks` are references to functions that return a `Check` for `workshop doctor`."""

    workloads: Sequence[Workload] = ()
    studies: Sequence[Study] = ()
    pages: Sequence[Page] = ()
    labs: Sequence[Lab] = ()
    decks: Sequence[Decks] = ()
    commands: Sequence[Command] = ()
    checks: Sequence[str] = ()


def help_of(name: str, field: FieldInfo) -> str:
    """One param as an option's help: what it is, the words it may be, and its default where there is one to show."""
    words = field.description or name
    kinds = [field.annotation, *get_args(field.annotation)]  # those of "X | None", too
    choices = [str(choice) for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if bool in kinds:
        choices = ["yes", "no"]
    notes = [" or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))] if choices else []
    default = None if field.is_required() or field.default_factory else field.default
    if default is not None and default != "":
        notes.append(f"default: {('no', 'yes')[default] if isinstance(default, bool) else default}")
    return f"{words} ({'; '.join(notes)})" if notes else words
