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
    summary: [batch]            # settings beside each cell's speed in an executive summary

What is read is data only: YAML's core schema (1.2), in which `off` and `no` are words, without tags and aliases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, StrictBool, StrictInt, ValidationError

from workshop.core import yaml_files
from workshop.core.errors import BadInput, in_words
from workshop.mpi.implementations import read_placement

EXAMPLE = "`workload: kmeans` and `vary: {ranks: [1, 2]}`"
LARGEST = 64 * 1024  # bytes


class StudyFile(BaseModel, frozen=True, extra="forbid"):
    """The content of a study's file, checked without its workload."""

    workload: str
    vary: dict[str, Any]
    params: dict[str, Any] = {}
    placement: dict[str, Any] = {}
    title: str = Field("", max_length=200)
    sampler: dict[str, Any] | None = None
    repeats: StrictInt = 1
    best: dict[str, Any] = {}
    compare: str = ""
    seeds: StrictBool = False
    summary: list[str] = []

    @property
    def options(self) -> dict[str, Any]:
        """The options of `grid.plan` that the file sets; the best cells are repeated by default."""
        return {"best": {}} | self.model_dump(
            include=self.model_fields_set - {"workload", "vary", "params", "placement"}
        )


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
        raise BadInput(f"{name} holds no study; it should have lines like {EXAMPLE}.")
    values = {key: value for key, value in document.items() if value is not None}
    if "best" in document and document["best"] is None:  # the best cells are not repeated
        values["best"] = {"cells": 0}
    if isinstance(values.get("sampler"), str):
        values["sampler"] = {"name": values["sampler"]}
    placement = values.get("placement")
    if isinstance(placement, dict) and isinstance(variables := placement.get("environment"), dict):
        values["placement"] = placement | {"environment": {key: str(value) for key, value in variables.items()}}
    try:
        return StudyFile.model_validate(values)
    except ValidationError as error:
        first: Any = min(error.errors(include_url=False), key=lambda problem: problem["type"] == "missing")
        key = str(first["loc"][0])
        if first["type"] == "missing":
            raise BadInput(f"{name} has no {key}; it should have lines like {EXAMPLE}.") from None
        raise BadInput(f"{name}, line {yaml_files.line_of(node, [key])}: {in_words(first, key)}.") from None
