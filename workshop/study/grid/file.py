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

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from workshop.analysis import words
from workshop.errors import BadInput
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
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} can't be read ({getattr(error, 'strerror', None) or error}).") from None
    if len(data) > LARGEST:
        raise BadInput(f"{path} has more than {LARGEST // 1024} kB; a study's file has a few lines.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no text; it should be a study's YAML file.") from None
    return read(text, str(path))


def read(text: str, name: str = "the study") -> StudyFile:
    """A study from the text of a file of that name. Raises BadInput with one sentence."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        _check_keys(node, name)
        document = loader.construct_document(node) if node is not None else None
    except BadInput:
        raise
    except RecursionError:
        raise BadInput(f"{name} is nested too deeply; a study's file has {DEEPEST} levels at most.") from None
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        where = f", line {at.line + 1}" if at else ""
        raise BadInput(f"{name}{where} is no YAML: {error.problem or error.context}.") from None
    except yaml.reader.ReaderError as error:
        raise BadInput(f"{name} has a character that text can't have (number {error.character}).") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{name} is no YAML: {' '.join(str(error).split())[:200]}.") from None
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


class _Loader(yaml.SafeLoader):
    """YAML's core schema, without aliases: a short text should not become a long one."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                None, None, "an alias (*name) stands for something else", self.peek_event().start_mark
            )
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]{1,18}", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def _check_keys(node: yaml.Node | None, name: str) -> None:
    """Every key of every mapping is a word, and comes once."""
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_keys(value, name)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith(":str"):
            raise BadInput(f"{name}, line {line}: a name should be a word.")
        if key.value in seen:
            raise BadInput(f"{name}, line {line}: {key.value[:60]!r} is there twice, first in line {seen[key.value]}.")
        seen[key.value] = line
        _check_keys(value, name)


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
