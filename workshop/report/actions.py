"""Actions that a verdict recommends. Its sentences name options, such as (--ranks 2): a terminal shows these options, a
notebook shows them in Python, and a page has buttons that fill the form in or compare with an earlier run. Commands say
what to type for a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from workshop.core import words
from workshop.core.forms import param_of_runs
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.registry import workloads
from workshop.store.records import RunRecord

if TYPE_CHECKING:  # decks load this module without a store
    from workshop.store.store import Store

OPTIONS = re.compile(r"\((--[a-z][^()]*)\)")
_OPTION = re.compile(r"--([a-z][a-z-]*) ([^\s,()]+)")
_COUNTED = {"ranks": "rank", "threads": "thread", "cores_per_rank": "core"}
LOOKED = 100  # earlier runs among which the one to compare with is looked for


@dataclass(frozen=True)
class Action:
    """The same run with other settings: params and fields of the placement that change."""

    params: Mapping[str, Any]
    placement: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The settings, in words that follow "with": 1 rank, broadcast on."""
        return words.listed(_setting(name, value) for name, value in {**self.placement, **self.params}.items())


def without_options(text: str) -> str:
    """A sentence of a verdict for a page, without the options of the command line."""
    return re.sub(rf" ?{OPTIONS.pattern}", "", text)


def actions(run: RunRecord) -> list[Action]:
    """The changes of settings that the verdict on a run recommends, as far as they can be made."""
    workload = workloads().get(run.workload)
    if workload is None:
        return []
    recommended: list[Action] = []
    for options in OPTIONS.findall((run.verdict or {}).get("next", "")):
        values = {name.replace("-", "_"): value for name, value in _OPTION.findall(options)}
        values.pop(param_of_runs(workload.params) or "", None)  # the page has a button for that
        action = Action(_changes(workload.params, run.params, values), _changes(Placement, run.placement, values))
        if (action.params or action.placement) and action not in recommended:
            recommended.append(action)
    return recommended


def run_like(store: Store, run: RunRecord, action: Action) -> int | None:
    """The newest completed run that is like `run` after an action; None where there is none."""
    params, placement = {**run.params, **action.params}, {**run.placement, **action.placement}
    others = store.runs(workload=run.workload, status="completed", limit=LOOKED)
    return next((other.id for other in others if other.params == params and other.placement == placement), None)


def _changes(model: type[BaseModel], now: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values that differ from those of now, as the model reads them; none where it refuses them."""
    texts = {name: text for name, text in texts.items() if name in model.model_fields}
    try:
        changed = model.model_validate({**now, **texts}).model_dump(mode="json")
    except ValidationError:
        return {}
    return {name: changed[name] for name in texts if changed[name] != now.get(name)}


def _setting(name: str, value: Any) -> str:
    if name in _COUNTED and isinstance(value, int):
        return words.count(value, _COUNTED[name]) + ("" if name == "ranks" else " for each rank")
    switch = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
    return f"{name.replace('_', ' ')} {switch}"


def run_command(workload: Workload, params: Mapping[str, Any], placement: Placement) -> str:
    """The command that runs a workload with these params and this placement; params at their defaults are left out."""
    return shlex.join(["workshop", "run", workload.name, *params_of(workload, params), *where_of(placement)])


def where_of(placement: Placement) -> list[str]:
    """The options that ask for a placement on its hosts."""
    plain = Placement()
    words = option_of("ranks", placement.ranks)
    for name in ("map_by", "per_resource", "cores_per_rank", "bind_to", "threads", "mpi"):
        if (value := getattr(placement, name)) != getattr(plain, name):
            words += option_of(name, value)
    words += ["--oversubscribe"] if placement.oversubscribe else []
    words += [word for name, value in placement.environment.items() for word in ("--env", f"{name}={value}")]
    hosts = ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)
    return [*words, *(["--hosts", hosts] if hosts else [])]


def params_of(workload: Workload, params: Mapping[str, Any]) -> list[str]:
    """The options that ask for params, in the workload's order; those at their defaults are left out."""
    return [
        word
        for name, field in workload.params.model_fields.items()
        if (value := params.get(name)) is not None and value != field.default
        for word in option_of(name, value)
    ]


def option_of(name: str, value: Any) -> list[str]:
    """The option that sets one param."""
    return [f"--{name.replace('_', '-')}", ("no", "yes")[value] if isinstance(value, bool) else str(value)]
