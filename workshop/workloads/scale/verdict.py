"""The verdict on a step: the part that takes most of its time, and what to change."""

from __future__ import annotations

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.findings import Facts, Finding

NEXT = {
    "input": "Read the examples of the next step while this one computes.",
    "compute": "Compute limits the step, so that more ranks help (--ranks).",
    "stragglers": "Find the slow rank on the task stream; without it (--slow 1), the step is shorter.",
    "exchange": "Send half the bytes (--half true), exchange while ranks compute (--overlap true --bucket 100000), or "
    "take another algorithm.",
    "evaluation": "Evaluate less often (--evaluate-every).",
    "checkpoint": "Write checkpoints less often (--checkpoint-every).",
}
LONG = 0.05  # share of a step from which a part is named


def outcome(facts: Facts) -> Finding | None:
    """The outcome of the steps; None without their parts."""
    seconds = facts.metrics.get("seconds") or {}
    if not seconds.get("step"):
        return None
    parts = {name: seconds[name] / seconds["step"] for name in NEXT}
    most = max(parts, key=lambda name: parts[name])
    named = [f"{name} {words.percent(share)}" for name, share in parts.items() if share >= LONG]
    why = (
        f"A step takes {words.seconds(seconds['step'])}: {words.listed(named)}. Compute is paced, so that ranks don't "
        "need cores of their own."
    )
    return Finding(
        f"{words.quantity(facts.metrics['examples_per_second'])} examples/s; {most} takes most of a step.",
        why,
        f"{NEXT[most]} The page Scale to 2,048 nodes predicts what that does, also on more ranks.",
        of_times=True,
    )


VERDICT = Verdict(outcome=outcome, first=True)
