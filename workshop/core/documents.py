"""JSON that everybody can read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def finite(document: Any) -> Any:
    """The same document with null for what is no finite number: JSON has no NaN and no infinity."""
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, Mapping):
        return {str(name): finite(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [finite(value) for value in document]
    return document
