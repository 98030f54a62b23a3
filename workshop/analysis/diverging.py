"""The finding of a training run whose loss grew."""

from __future__ import annotations

import math

from workshop.analysis import words
from workshop.analysis.balance import Totals
from workshop.analysis.findings import Facts, Finding


def diverged(facts: Facts) -> bool:
    """Whether the loss is no number any more."""
    told = [facts.metrics.get(name) for name in ("loss", "held_out_loss")]
    lost = any(isinstance(value, float) and not math.isfinite(value) for value in told)
    return lost or facts.metrics.get("diverged") is True


def diverging(facts: Facts, totals: Totals) -> Finding | None:
    """That the loss became no number, or went up; with the learning rate that may have done it."""
    lost = diverged(facts)
    why = f"After {words.count(facts.metrics['updates'], 'update')} the loss was not a number any more."
    rising = None if lost else _rising(facts, totals)
    if not lost and rising is None:
        return None
    return Finding(
        "The training diverged." if lost else "The loss went up, not down.",
        " ".join(filter(None, [rising or why, _rate(facts)])),
        _following(facts),
    )


def _rising(facts: Facts, totals: Totals) -> str | None:
    """That the loss of the last epoch is above the mean of all steps, in words, where it is."""
    last, epochs = facts.metrics.get("loss"), facts.metrics.get("epochs")
    count, total = (totals.get("loss") or {}).get(0, (0, 0.0))
    if not isinstance(last, float) or not isinstance(epochs, int) or epochs < 2 or count == 0:
        return None
    mean = total / count
    if not math.isfinite(mean) or not last > mean:
        return None
    return f"The mean loss of the last epoch was {last:.3g}, that of all {count} steps {mean:.3g}."


def _times(facts: Facts) -> float:
    """What the rate of one rank was multiplied by."""
    return {"linear": float(facts.ranks), "sqrt": math.sqrt(facts.ranks)}.get(str(facts.run.params.get("scale")), 1.0)


def _sudden(facts: Facts) -> bool:
    """Whether the scaled rate was there from the first step on."""
    return _times(facts) > 1 and facts.run.params.get("warmup") == 0


def _rate(facts: Facts) -> str:
    rate, times = facts.metrics.get("learning_rate"), _times(facts)
    if not isinstance(rate, int | float):
        return ""
    scaled = f", {times:.2g} times that of one rank" if times > 1 else ""
    when = ", without warm-up" if _sudden(facts) else ""
    return f"The learning rate was {rate:.3g}{scaled}{when}."


def _following(facts: Facts) -> str:
    rate = facts.metrics.get("learning_rate")
    smaller = f" (--rate {rate / _times(facts) / 10:.2g})" if isinstance(rate, int | float) else " (--rate)"
    if _sudden(facts):
        return f"Let the rate grow over the first epochs (--warmup 2), or take a smaller one{smaller}."
    if facts.run.params.get("scale") == "linear" and facts.ranks > 1:
        return f"Multiply it by the square root of the ranks only (--scale sqrt), or take a smaller rate{smaller}."
    return f"Take a smaller learning rate{smaller}."
