"""The images: MNIST from files, a cache or a download, and scikit-learn's digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.extension import Artifacts


def inputs(params: Any, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The images that the param `data` names, as inputs of a run. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    return images.find(params.data)
