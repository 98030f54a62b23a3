"""Grid studies on the command line: described by options, or by a small YAML file.

    workload: kmeans            # what to run
    title: ranks and kernels    # optional, as all that follows but vary
    params: {data: blobs}       # settings of all runs
    placement: {threads: 1}     # where all run
    vary:                       # the grid: what is varied, and its values
      ranks: [1, 2]
      backend: [numba, numpy]
    sampler: {name: tpe, trials: 20, seed: 0}
    repeats: 1                  # runs of each cell
    best: {cells: 2, repeats: 3}
    compare: held_out_accuracy  # a metric, the more the better; else how fast they are
    seeds: true                 # each repeat has a seed of its own

What is read is data only: YAML's core schema (1.2), in which `off` and `no` are words, without tags and aliases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.core import words, yaml_files
from workshop.core.errors import BadInput
from workshop.mpi.implementations import read_placement
from workshop.study import command as commands
from workshop.study.command import Minutes, Settings

if TYPE_CHECKING:
    Where = dict[str, Any]
else:
    Where = common.PLACEMENT.only(
        *("ranks", "threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "env", "mpi")
    )


@common.grouped
def grid(
    workload: Annotated[str, typer.Option(metavar="NAME", help="The workload, for instance sgan, mnist or kmeans.")],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=V,V,…",
            help="What to vary: ranks, threads, … of the placement, env.NAME, or a setting of the workload; may be "
            "repeated. Values with commas in them are parted by | instead.",
        ),
    ] = None,
    settings: Settings = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Interleaved runs of each cell.")] = 1,
    weak: Annotated[
        bool, typer.Option("--weak", help="Each rank has the whole batch, instead of its part, where ranks are varied.")
    ] = False,
    *,
    where: Where,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Every combination of some values, and which is fastest. The best two are repeated.

    Where ranks are varied, all together have the batch that one rank would have, so that every cell does the same work.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.settings import read_axes, read_settings

    chosen = workload_of(workload)
    axes = read_axes(vary or [])
    params = read_settings(settings or [], chosen)
    options = grids.options(repeats, weak)
    store, shared = commands.store_and_session(session, private, no_wait)
    placement = common.placement_from(shared.placement if shared else {}, **where)
    planned = grids.plan_here(store, shared, chosen, axes, params, placement, options)
    return commands.go_on(store, commands.begin(store, planned), shared, minutes, as_json)


def file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The study's YAML file, see labs/sgan/studies.")],
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """A grid study that a small YAML file describes."""
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.settings import whole_path

    study_file = read_study(path)
    chosen = workload_of(study_file.workload)
    params = {
        name: whole_path(chosen, name, value, path.parent) if isinstance(value, str) else value
        for name, value in study_file.params.items()
    }
    store, shared = commands.store_and_session(session, private, no_wait)
    placement = placement_of(study_file, shared)
    planned = grids.plan_here(store, shared, chosen, study_file.vary, params, placement, study_file.options)
    return commands.go_on(store, commands.begin(store, planned), shared, minutes, as_json)


def read_study(path: Path) -> StudyFile:
    """A study's file. Raises BadInput with one sentence, which names the file, and the line where there is one; also if
    a name is both set and varied."""
    study_file = read(yaml_files.read_text(path, LARGEST, "a study"), str(path))
    both = next((name for name in [*study_file.params, *study_file.placement] if name in study_file.vary), None)
    if both is not None:
        raise BadInput(f"{path}: {both} is both set and varied; leave one out.")
    return study_file


def placement_of(study_file: StudyFile, shared: Any) -> Any:
    """The placement of a file's runs: the file's fields, then the session's or this machine's. Raises BadInput."""
    from workshop.core import topology
    from workshop.core.placement import default_for

    here = default_for(topology.allowed_cores(topology.machine())).as_json()
    base = shared.placement if shared else {} if study_file.placement else here
    return read_placement({**base, **study_file.placement})


LARGEST = 64 * 1024  # bytes
DEEPEST = 10  # levels


@dataclass(frozen=True)
class StudyFile:
    """The content of a study's file, checked without its workload."""

    workload: str
    vary: Mapping[str, Any]
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    options: Mapping[str, Any]  # of `grid.plan`


def read(text: str, name: str = "the study") -> StudyFile:
    """A study from the text of a file of that name. Raises BadInput with one sentence."""
    try:
        node, loader = yaml_files.compose(text, DEEPEST)
        for line, problem in yaml_files.bad_keys(node):
            raise BadInput(f"{name}, line {line}: {problem}")
        document = yaml_files.document(node, loader)
    except yaml_files.TooDeep as error:
        raise BadInput(f"{name} {error}; a study's file has {DEEPEST} levels at most.") from None
    except yaml_files.Unreadable as error:
        where = f", line {error.line}" if error.line else ""
        raise BadInput(f"{name}{where} {error}") from None
    if node is None or not isinstance(document, dict):
        raise BadInput(f"{name} holds no study; it should have lines like `workload: kmeans` and `vary: ...`.")
    return _study(document, {key.value: key.start_mark.line + 1 for key, _ in node.value}, name)


def _study(document: Mapping[str, Any], lines: Mapping[str, int], name: str) -> StudyFile:
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key not in _FIELDS:
            raise BadInput(f"{name}, line {lines[key]}: a study has no {key[:60]!r}; it has {words.listed(_FIELDS)}.")
        try:
            values[key] = _value(key, value)
        except BadInput as error:
            raise BadInput(f"{name}, line {lines[key]}: {error}") from None
    for key in _NEEDED:
        if key not in values:
            raise BadInput(f"{name} has no {key}; it should say {_NEEDED[key]}.")
    options = {"best": {}} | {key: value for key, value in values.items() if value is not None}
    fields = {key: options.pop(key, {}) for key in ("workload", "vary", "params", "placement")}
    return StudyFile(**fields, options=options)


def _value(key: str, value: Any) -> Any:
    """The value of a key of a file; None for an empty optional key. Raises BadInput."""
    expected, kinds = _FIELDS[key]
    if value is None and key not in _NEEDED:
        return {"cells": 0} if key == "best" else None
    right = isinstance(value, kinds) and isinstance(value, bool) <= (kinds is bool)
    if not right or (kinds is str and not 0 < len(value.strip()) <= len(value) <= 200):
        raise BadInput(f"{key} is {str(value)[:60]!r}; it should be {expected}.")
    if isinstance(value, str):
        return {"name": value} if key == "sampler" else value.strip()
    if not isinstance(value, dict):
        return value
    entries = {str(name): entry for name, entry in value.items()}
    variables = entries.get("environment")
    if key == "placement" and isinstance(variables, dict):  # whose values are texts, also where they look like numbers
        entries["environment"] = {
            str(name): str(entry) if isinstance(entry, (int, float)) and not isinstance(entry, bool) else entry
            for name, entry in variables.items()
        }
    return entries


# The keys of a file: their values in words and as types.
_FIELDS: Mapping[str, tuple[str, Any]] = {
    "workload": ("a word or a few", str),
    "title": ("a word or a few", str),
    "params": ("names with values, such as {batch: 64}", dict),
    "placement": ("names with values, such as {ranks: 2}", dict),
    "vary": ("names with values, such as {ranks: [1, 2]}", dict),
    "sampler": ("names with values, such as {name: tpe, trials: 20}", (str, dict)),
    "repeats": ("a whole number", int),
    "best": ("names with values, such as {cells: 2, repeats: 3}", dict),
    "compare": ("a word or a few", str),
    "seeds": ("true or false", bool),
}
_NEEDED = {"workload": "what to run, as in `workload: kmeans`", "vary": "what to vary, as in `vary: {ranks: [1, 2]}`"}
