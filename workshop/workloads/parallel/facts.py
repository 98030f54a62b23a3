"""The facts of the verdict on a cut: its fault, the calls of a step, and the ranks with the most memory and work.

`failures` are mistakes in what ranks exchange, and in how the work is divided. `failures.yaml` describes them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workshop.core.placement import Host, Placement
from workshop.extension import Failure
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts


def failures(cores: int = 1, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> tuple[Failure, ...]:
    """Return all failures, which are the same on each machine: two cores are enough, and the ranks take turns."""
    return _read()


@cache
def _read() -> tuple[Failure, ...]:
    every = []
    for entry in yaml.safe_load(Path(__file__).with_name("failures.yaml").read_text(encoding="utf-8")):
        placement = Placement(ranks=entry.pop("ranks", 2), oversubscribe=True, threads=1)
        every.append(Failure(workload="parallel", broken=placement, fixed=placement, **entry))
    return tuple(every)


# Largest relative differences from one process that rounding explains. Adam divides by the size of a gradient, so a
# weight without a gradient moves by its rounding error; in 32 bits that is visible.
TOLERANCES: Mapping[str, float] = {"float64": 1e-9, "float32": 0.1}


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """All of them; None for what the run doesn't tell."""
    metrics, params = facts.metrics, facts.run.params
    precision, fault = str(params.get("precision", "float64")), params.get("fault", "none")
    faults = {failure.broken_params["fault"]: failure for failure in _read() if "fault" in failure.broken_params}
    work = [float(seconds) for seconds in metrics.get("rank_seconds") or []]
    ledgers: Sequence[Mapping[str, int]] = metrics.get("memory_counted") or []
    largest = max(range(len(ledgers)), key=lambda rank: sum(ledgers[rank].values()), default=0)
    ledger = ledgers[largest] if ledgers else {}
    most_used = max(ledger, key=lambda name: ledger[name], default="")
    return {
        "fault": faults.get(fault),
        "precision": precision,
        "tolerance": TOLERANCES[precision],
        "calls": sum(count for rank in metrics.get("traffic") or [] for count, _ in rank.values()),
        "largest": {"rank": largest, "bytes": sum(ledger.values()), "use": most_used, "of_use": ledger[most_used]}
        if ledger
        else None,
        "slowest": {"rank": max(range(len(work)), key=work.__getitem__), "seconds": max(work)} if work else None,
        "mean_work": sum(work) / len(work) if work else None,
        "in_stages": metrics.get("idle") is not None or "pipeline" in str(params.get("cut")),
    }
