"""The verdict on a training run whose loss grew."""

from __future__ import annotations

import math

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding

MARGIN = 0.10  # share by which the last epoch's loss has to be above the mean of all steps
LEAST = 0.10  # and by how much at least: a network that is nearly done wavers by more than a tenth of nearly nothing
GUESSING = math.log(10)  # cross-entropy of a network that finds each of the ten digits equally probable


def diverged(facts: Facts) -> bool:
    """Whether the loss is no number any more, or the run ended itself because it had grown so far."""
    losses = [facts.metrics.get(name) for name in ("loss", "held_out_loss")]
    lost = any(isinstance(value, float) and not math.isfinite(value) for value in losses)
    return lost or facts.metrics.get("diverged") is True


def diverging(facts: Facts, totals: Totals) -> Finding | None:
    """That the loss became no number, grew too far, or went up; with the learning rate that may have done it."""
    lost = diverged(facts)
    rising = None if lost else _rising(facts, totals)
    if not lost and rising is None:
        return None
    return Finding(
        "The training diverged." if lost else "The loss went up, not down.",
        " ".join(filter(None, [rising or _lost(facts), _rate(facts)])),
        _following(facts),
    )


def _lost(facts: Facts) -> str:
    """The loss of a run that diverged, in words."""
    after, loss = f"After {words.count(facts.metrics['updates'], 'update')}", facts.metrics.get("loss")
    if facts.metrics.get("diverged") is not True or not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"{after} the loss was not a number any more."
    return f"{after} the loss had grown to {words.short(loss)}; that of guessing is {GUESSING:.1f}; training was ended."


def _rising(facts: Facts, totals: Totals) -> str | None:
    """A sentence where the last epoch's loss is well above the mean of all steps. A single epoch can't tell."""
    last, epochs = facts.metrics.get("loss"), facts.metrics.get("epochs")
    count, total = (totals.get("loss") or {}).get(0, (0, 0.0))
    if not isinstance(last, float) or not isinstance(epochs, int) or count == 0:
        return None
    # Events are this run's alone, epochs are counted from the first run on.
    earlier = (facts.metrics.get("resumed") or {}).get("epoch") or 0
    mean = total / count
    if epochs - earlier < 2 or not math.isfinite(mean) or not last > max((1 + MARGIN) * mean, mean + LEAST):
        return None
    return f"The mean loss of the last epoch was {words.short(last)}, that of all {count} steps {words.short(mean)}."


def _times(facts: Facts) -> float:
    """The factor by which the learning rate of one rank was multiplied."""
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
    tenth = f" (--rate {rate / _times(facts) / 10:.2g})" if isinstance(rate, int | float) else " (--rate)"
    smaller = f"Take a smaller learning rate{tenth}"
    if _sudden(facts):
        return f"{smaller}; then let it grow over the first epochs (--warmup 2)."
    if facts.run.params.get("scale") == "linear" and facts.ranks > 1:
        return f"{smaller}, or multiply it by the square root of the ranks only (--scale sqrt)."
    return f"{smaller}."
