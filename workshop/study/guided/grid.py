"""The points of a step's grid. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from workshop.study.guided.steps import Step

if TYPE_CHECKING:
    from workshop.study.guided.step_results import StepResults


def points(found: StepResults, one: Step) -> Iterator[dict[str, Any]]:
    """All points of a step's grid."""
    named = found.setting.values | {"means": tuple(one.means)}
    for values in product(*(named[values] if isinstance(values, str) else values for values in one.vary.values())):
        yield dict(zip(one.vary, values, strict=True))


def crowded(found: StepResults, point: Mapping[str, Any]) -> bool:
    """Whether the quick setting leaves a point out, because it has more than two threads for a core."""
    return found.setting.quick and point.get("ranks", 0) * point.get("threads", 0) > 2 * found.setting.cores
