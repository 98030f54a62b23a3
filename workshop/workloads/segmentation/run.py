"""The workload: the same rounds as with digits, of another task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.engine.context import RankContext
from workshop.workloads.federated.run import learn
from workshop.workloads.segmentation import SegmentationParams
from workshop.workloads.segmentation.task import segmentation


def run(ctx: RankContext, params: SegmentationParams) -> Mapping[str, Any]:
    """Learn from patients of several institutions and tell what came out. Collective.

    Events and metrics are those of `federated`, with "Dice" as the measure: the Dice coefficient of each image, 1 where
    neither the true mask nor the model's has a pixel, on average. Artifacts: overlays.png and overlays.json.
    """
    return learn(ctx, params, segmentation)
