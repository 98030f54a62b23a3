"""Studies as small YAML files.

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
    shared: true                # more ranks divide the work of a step
    limit: 50                   # so many cells at random
    compare: held_out_accuracy  # a metric, the more the better; else how fast they are
    seeds: true                 # each repeat has a seed of its own

What is read is data only: YAML's core schema (1.2), in which `off` and `no` are words, without tags and aliases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput
from workshop.study.grid.options import AGAIN

LARGEST = 64 * 1024  # bytes
DEEPEST = 10  # levels


@dataclass(frozen=True)
class StudyFile:
    """What a file says, as far as it can be known without its workload."""

    workload: str
    vary: Mapping[str, Any]
    title: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    placement: Mapping[str, Any] = field(default_factory=dict)
    sampler: Mapping[str, Any] | None = None
    repeats: int = 1
    best: Mapping[str, Any] | None = field(default_factory=lambda: dict(AGAIN))
    shared: bool = True
    limit: int | None = None
    compare: str = ""
    seeds: bool = False


def read_file(path: Path) -> StudyFile:
    """A study from a file. Raises BadInput with one sentence, which names the file, and the line where there is one."""
    return read(yaml_files.read_text(path, LARGEST, "a study"), str(path))


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
    if not isinstance(document, dict):
        raise BadInput(f"{name} holds no study; it should have lines like `workload: kmeans` and `vary: ...`.")
    return _study(document, _lines(node), name)


def _study(document: Mapping[str, Any], lines: Mapping[str, int], name: str) -> StudyFile:
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key not in _CHECKS:
            raise BadInput(f"{name}, line {lines[key]}: a study has no {key[:60]!r}; it has {words.listed(_CHECKS)}.")
        try:
            values[key] = _CHECKS[key](key, value)
        except BadInput as error:
            raise BadInput(f"{name}, line {lines[key]}: {error}") from None
    for key in ("workload", "vary"):
        if key not in values:
            raise BadInput(f"{name} has no {key}; it should say {_NEEDED[key]}.")
    return StudyFile(**{key: value for key, value in values.items() if value is not None})


def _lines(node: Any) -> dict[Any, int]:
    return {key.value: key.start_mark.line + 1 for key, _ in node.value}


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise BadInput(f"{key} is {str(value)[:60]!r}; it should be a word or a few.")
    return value.strip()


def _mapping(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{key} is {str(value)[:60]!r}; it should be names with values, such as {_EXAMPLES[key]}.")
    return {str(name): given for name, given in value.items()}


def _placement(key: str, value: Any) -> dict[str, Any]:
    found = _mapping(key, value)
    variables = found.get("environment")
    if isinstance(variables, dict):  # whose values are texts, also where they look like numbers
        found["environment"] = {str(name): _plain(given) for name, given in variables.items()}
    return found


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _sampler(key: str, value: Any) -> dict[str, Any] | None:
    return {"name": value} if isinstance(value, str) else _mapping(key, value)


def _number(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{key} is {str(value)[:60]!r}; it should be a whole number.")
    return value


def _yes_or_no(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{key} is {str(value)[:60]!r}; it should be true or false.")
    return value


def _or_none(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda key, value: None if value is None else check(key, value)


_EXAMPLES = {
    "params": "{batch: 64}",
    "placement": "{ranks: 2}",
    "vary": "{ranks: [1, 2]}",
    "sampler": "{name: tpe, trials: 20}",
    "best": "{cells: 2, repeats: 3}",
}
_NEEDED = {"workload": "what to run, as in `workload: kmeans`", "vary": "what to vary, as in `vary: {ranks: [1, 2]}`"}
# What a file may hold, and how it is read.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "workload": _text,
    "title": _or_none(_text),
    "params": _or_none(_mapping),
    "placement": _or_none(_placement),
    "vary": _mapping,
    "sampler": _or_none(_sampler),
    "repeats": _or_none(_number),
    "best": lambda key, value: {"cells": 0} if value is None else _mapping(key, value),
    "shared": _or_none(_yes_or_no),
    "limit": _or_none(_number),
    "compare": _or_none(_text),
    "seeds": _or_none(_yes_or_no),
}
