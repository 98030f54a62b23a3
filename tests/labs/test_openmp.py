"""The notebook on OpenMP: its variables act on scikit-learn under Intel's library; GNU's reads none of them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.labs.exercises import LABS
from tests.support import need
from workshop.course import source

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def notebook() -> dict[str, Any]:
    """The names that the notebook's first cell of code defines."""
    cells = source.read(LABS["sgan"] / "further" / "openmp.md")
    names: dict[str, Any] = {}
    exec(next(cell.text for cell in cells if "def measured" in cell.text), names)
    need(names["intel"], "Intel's OpenMP, which is for x86-64")
    return names


def test_the_number_of_threads_is_omp_num_threads(notebook: dict[str, Any]) -> None:
    settings = {str(count): {"OMP_NUM_THREADS": str(count)} for count in (1, 2, 4)}
    results, _ = notebook["measured"](notebook["nearest"], settings, (4_000, 2, 0), repeats=2)
    assert {name: [len(one["threads"]) for one in repeats] for name, repeats in results.items()} == {
        "1": [1, 1],
        "2": [2, 2],
        "4": [4, 4],
    }


def test_kmp_variables_are_read_and_bind_threads(notebook: dict[str, Any]) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    need(len(allowed) > 1, "two processors")
    both = {"OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "7", "KMP_SETTINGS": "1"}
    settings = {kind: both | {"KMP_AFFINITY": kind} for kind in ("none", "granularity=fine,compact")}
    results, printed = notebook["measured"](notebook["nearest"], settings, (4_000, 2, 0), repeats=1)
    free, bound = (repeats[0]["threads"] for repeats in results.values())
    assert free == [allowed, allowed]
    assert len(bound) == 2 and all(len(units) == 1 for units in bound) and bound[0] != bound[1]
    effective = printed.split("Effective settings:")[1:]
    assert len(effective) == 2 and all("KMP_BLOCKTIME=7" in text for text in effective)


def test_gnus_library_does_not_bind_by_kmp_affinity(notebook: dict[str, Any]) -> None:
    variables = {"OMP_NUM_THREADS": "2", "KMP_AFFINITY": "granularity=fine,compact"}
    results, printed = notebook["measured"](notebook["nearest"], {"": {}}, (4_000, 2, 0), 1, start=variables)
    allowed = sorted(os.sched_getaffinity(0))
    assert results[""][0]["threads"] == [allowed, allowed] and "OMP" not in printed
