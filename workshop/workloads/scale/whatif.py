"""Changes of a measured step: what if? This machine can make each of them true, so that predictions can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BASE: Mapping[str, Any] = {"per_host": 2, "spread": 0.1}  # of the step that is measured, on BASE_RANKS
BASE_RANKS = 4


@dataclass(frozen=True)
class WhatIf:
    """A change of params, of the number of ranks, or of both."""

    title: str
    changes: Mapping[str, Any]
    ranks: int = BASE_RANKS


CHANGES = (
    WhatIf("ten times slower network", {"bandwidth": 5.0}),
    WhatIf("ten times faster network", {"bandwidth": 500.0}),
    WhatIf("ten times longer latency", {"latency": 5000.0}),
    WhatIf("no spread of compute", {"spread": 0.0}),
    WhatIf("a rank twice as slow", {"slow": 2.0}),
    WhatIf("half the bytes", {"half": True}),
    WhatIf("a message for each tensor", {"bucket": 0}),
    WhatIf("overlap", {"overlap": True, "bucket": 100_000}),
    WhatIf("evaluation in every step", {"evaluate_every": 1}),
    WhatIf("a checkpoint every second step", {"checkpoint_every": 2}),
    WhatIf("four times the batch", {"batch": 128}),
    WhatIf("four times the weights", {"parameters": 1_000_000}),
    WhatIf("slow input", {"input": 15.0}),
    WhatIf("three times the compute", {"compute": 60.0}),
    WhatIf("one rank on each host", {"per_host": 1}),
    WhatIf("recursive doubling", {"algorithm": "recursive-doubling"}),
    WhatIf("a tree", {"algorithm": "tree"}),
    WhatIf("hierarchical", {"algorithm": "hierarchical"}),
    WhatIf("a parameter server", {"algorithm": "servers"}),
    WhatIf("four parameter servers", {"algorithm": "servers", "servers": 4}),
    WhatIf("half the ranks", {}, 2),
    WhatIf("half as many ranks again", {}, 6),
    WhatIf("twice the ranks", {}, 8),
)


def combinations() -> list[WhatIf]:
    """All changes, and changes of the work together with those of the exchange: more than fifty."""
    work = [change for change in CHANGES if {"slow", "spread", "batch", "compute"} & set(change.changes)]
    exchange = [
        change
        for change in CHANGES
        if {"algorithm", "bandwidth", "latency"} & set(change.changes) or change.ranks != BASE_RANKS
    ]
    return [
        *CHANGES,
        *(
            WhatIf(f"{first.title}, {second.title}", {**first.changes, **second.changes}, second.ranks)
            for number, first in enumerate(work)
            for second in exchange[number % 2 :]
        ),
    ][:60]
