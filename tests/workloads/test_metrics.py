"""Every metric of a built-in workload that a page lists has words of its workload's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from workshop.cli import record
from workshop.registry import workloads
from workshop.report.sentences import value_words
from workshop.workloads.openfl import WORKLOAD

RECORDED = ("allreduce", "federated", "inversion", "kmeans", "mnist", "segmentation", "sgan")


def listed(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the metrics that pages list, a part of a mapping as `name.part`."""
    for name, value in metrics.items():
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in parts:
            if value_words(number, "") is not None:
                yield f"{name}.{part}" if part else name


@pytest.fixture(scope="module")
def recorded() -> Mapping[str, set[str]]:
    """The names of the listed metrics of each workload in the recorded course."""
    names: dict[str, set[str]] = {}
    with record.replayed(record.shipped()) as store:
        for run in store.runs(limit=None):
            names.setdefault(run.workload, set()).update(listed(run.metrics))
    return names


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_metrics_have_words(name: str, recorded: Mapping[str, set[str]]) -> None:
    assert recorded[name], "the course has runs of it"
    assert recorded[name] - workloads()[name].metrics.keys() == set()


def test_openfl_has_words_for_its_own_metrics() -> None:
    own = ("openfl", "rounds", "seconds_per_round", "own_accuracy", "participants")
    assert set(own) <= WORKLOAD.metrics.keys()
