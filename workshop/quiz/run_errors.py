"""Finds mistakes in what a question would run: its workload, params and placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi.implementations import implementation
from workshop.quiz.form_errors import DeckMistake, Where, hint, mistakes, named
from workshop.quiz.parts import RunWanted
from workshop.registry import workload, workloads


def run_problems(run: RunWanted, path: Where) -> Iterator[DeckMistake]:
    """Report an unknown workload, and params and placement fields that can't be run."""
    if run.workload in workloads():
        model = workload(run.workload).params
        yield from model_problems(model.model_validate, model, run.params, (*path, "params"))
    else:
        available = words.listed(workloads())
        guess = hint(run.workload, workloads())
        yield DeckMistake((*path, "workload"), f"there is no workload {run.workload!r}; there are {available}{guess}")
    yield from model_problems(Placement.model_validate, Placement, run.placement, (*path, "placement"))
    yield from mpi_problems(run.placement, (*path, "placement"))


def model_problems(
    check: Callable[[Any], Any], model: Any, values: Mapping[str, Any], path: Where
) -> Iterator[DeckMistake]:
    """The errors of a pydantic model for these values."""
    try:
        check(dict(values))
    except ValidationError as error:
        for mistake in mistakes(error, model, dict(values)):
            yield DeckMistake((*path, *mistake.path), f"{named(path)}: {mistake.text}")


def mpi_problems(placement: Mapping[str, Any], path: Where) -> Iterator[DeckMistake]:
    """Report an unknown MPI of a placement; the model itself accepts any text."""
    try:
        if isinstance(name := placement.get("mpi"), str):
            implementation(name)
    except BadInput as error:
        yield DeckMistake((*path, "mpi"), f"{named(path)}: {str(error).rstrip('.')}")
