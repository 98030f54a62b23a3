"""A grid study as a small YAML file.

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
from typing import Any

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput
from workshop.mpi.implementations import read_placement

LARGEST = 64 * 1024  # bytes


@dataclass(frozen=True)
class StudyFile:
    """The content of a study's file, checked without its workload."""

    workload: str
    vary: Mapping[str, Any]
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    options: Mapping[str, Any]  # of `grid.plan`


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


def read(text: str, name: str = "the study") -> StudyFile:
    """A study from the text of a file of that name. Raises BadInput with one sentence."""
    try:
        node, loader = yaml_files.compose(text)
        for line, problem in yaml_files.bad_keys(node):
            raise BadInput(f"{name}, line {line}: {problem}")
        document = yaml_files.document(node, loader)
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
