"""The registry of workloads: functions `(ctx, params) -> metrics` that run on every rank.

Other packages add theirs through the entry point group `workshop.workloads`, each naming a `Workload`.
Nothing here imports a numerical library: descriptors must be cheap enough for `workshop --help`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from workshop.core.errors import BadInput, bad_input

Artifacts = Callable[[int, str], bytes]  # (run, name) -> the file that the run left; raises BadInput


def no_artifacts(run_id: int, name: str) -> bytes:
    """What there is of earlier runs where there is no store."""
    raise BadInput(f"Without a session there is no run {run_id}; give the path of its {name} instead.")


class Params(BaseModel):
    """Base of every workload's params: frozen, and an unknown setting is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


@dataclass(frozen=True)
class Scaling:
    """What a scaling study has to know of a workload.

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
    """What the tuner has to know of a workload that can be compared over placements.

    `short` are the params that only a trial has, unless somebody else sets them: it measures two to four seconds on
    two cores. `length` names the one of them that says for how long (steps), `seconds` the part of the metric `seconds`
    in which it is measured. `load` are params of the work itself that are better to tune on than the usual ones.
    `knobs` are params that change how fast the work is done and nothing of what comes out, each with its values, those
    that are known to be good first.
    """

    short: Mapping[str, Any]
    length: str
    seconds: str
    load: Mapping[str, Any] = field(default_factory=dict)
    knobs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """What the platform knows of a workload before it runs.

    `function` is "module:function", imported on ranks only. `inputs(params, artifacts)` runs where the run is
    submitted, with the rights of whoever submits it: it reads the files that params name and returns their bytes, which
    reach every rank as `ctx.inputs`; it raises BadInput for whatever can be known to be wrong beforehand. `artifacts`
    reads what an earlier run has left. `fits(params, inputs, ranks)` raises BadInput there for what so many ranks can't
    do. `processes(params)` is how many processes a run starts beside its ranks; a learner's limit counts them like
    ranks. `curves` names the events that pages draw, `results` the metrics that are shown before all others, both the
    most important first. `scaling` is None where the workload can't be compared over numbers of ranks, `tuning` where
    the tuner can't try it. `trains` says that its ranks import TensorFlow.
    """

    name: str
    title: str
    summary: str
    params: type[Params]
    function: str
    inputs: Callable[[Any, Artifacts], Mapping[str, bytes]] | None = None
    fits: Callable[[Any, Mapping[str, bytes], int], None] | None = None
    processes: Callable[[Any], int] | None = None
    curves: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    scaling: Scaling | None = None
    tuning: Tuning | None = None
    trains: bool = False

    def check(self, values: Mapping[str, Any]) -> Params:
        """Validate params. Raises BadInput with one sentence."""
        try:
            return self.params.model_validate(dict(values))
        except ValidationError as error:
            raise bad_input(error, self.name) from error

    def load(self) -> Callable[..., Mapping[str, Any]]:
        """Import the function that ranks run."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)


def help_of(name: str, field: FieldInfo) -> str:
    """One param as an option's help: what it is, the words it may be, and its default where there is one to show."""
    told = field.description or name
    kinds = [field.annotation, *get_args(field.annotation)]  # those of "X | None", too
    choices = [str(choice) for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if bool in kinds:
        choices = ["yes", "no"]
    notes = [" or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))] if choices else []
    default = None if field.is_required() or field.default_factory else field.default
    if default is not None and default != "":
        notes.append(f"default: {('no', 'yes')[default] if isinstance(default, bool) else default}")
    return f"{told} ({'; '.join(notes)})" if notes else told


@cache
def workloads() -> Mapping[str, Workload]:
    """Every known workload by name. One that can't be loaded is named on standard error and left out."""
    found = {}
    for entry in entry_points(group="workshop.workloads"):
        try:
            loaded = entry.load()
        except Exception as error:  # somebody else's package: whatever is wrong with it, ours must go on
            print(f"The workload {entry.name} ({entry.value}) can't be loaded: {error}", file=sys.stderr)
        else:
            found[loaded.name] = loaded
    return dict(sorted(found.items()))


def workload(name: str) -> Workload:
    """The workload of that name. Raises BadInput naming the known ones."""
    try:
        return workloads()[name]
    except KeyError:
        raise BadInput(f"There is no workload {name!r}; there are {', '.join(workloads())}.") from None
