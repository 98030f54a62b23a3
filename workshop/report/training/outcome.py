"""The result of a training run, also of one whose loss grew, the run that it continued, and the share of evaluation in
its time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.engine.training.checkpoint_interval import daly, young
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent
from workshop.report.training.time_use import evaluation_share, has_trained, shares

MARGIN = 0.10  # share by which the last epoch's loss has to be above the mean of all steps
LEAST = 0.10  # and by how much at least: a network that is nearly done wavers by more than a tenth of nearly nothing
CLIMB = 0.5  # share, and amount, by which a step's loss has to be above the first one's
NOTHING = 0.15  # accuracy with ten digits that is hardly better than guessing
GUESSING = math.log(10)  # cross-entropy of a network that finds each of the ten digits equally probable


def diverged(facts: Facts) -> bool:
    """Whether the loss is no number any more, or the run ended itself because it had grown so far."""
    losses = [facts.metrics.get(name) for name in ("loss", "held_out_loss")]
    lost = any(isinstance(value, float) and not math.isfinite(value) for value in losses)
    return lost or facts.metrics.get("diverged") is True


def diverging(facts: Facts, totals: Totals) -> Finding | None:
    """The finding for a loss that became no number, grew too far or went up, and for an accuracy that is hardly better
    than guessing; with the learning rate that may have done it."""
    lost = diverged(facts)
    rising = None if lost else _rising(facts, totals)
    if not lost and rising is None:
        return _broken(facts)
    return Finding(
        "The training diverged." if lost else "The loss went up, not down.",
        " ".join(filter(None, [rising or _lost(facts), _rate(facts)])),
        _after_divergence(facts),
    )


BROKEN = 0.9  # held-out accuracy above which a training has learned, whatever its loss did on the way


def _broken(facts: Facts) -> Finding | None:
    """The finding for a run far from its target whose loss climbed on the way, or that learned nothing."""
    metrics = facts.metrics
    accuracy, first, highest = (metrics.get(name) for name in ("held_out_accuracy", "first_loss", "highest_loss"))
    if not number(accuracy) or not missed(facts) or accuracy > BROKEN:
        return None
    end = f"{percent(accuracy)} after {words.count(metrics['updates'], 'update')}"
    if number(first) and number(highest) and highest > max((1 + CLIMB) * first, first + CLIMB):
        began, top = words.quantity(first), words.quantity(highest)
        why = f"The loss was {began} in the first step, and climbed to {top} on the way."
        return Finding(f"Training broke: {end}.", f"{why} {_rate(facts)}".strip(), _after_divergence(facts))
    if accuracy > NOTHING or (metrics.get("epochs") or 0) < 2:
        return None
    return Finding(
        f"The training learned nothing: {end}.",
        f"Guessing has 10 %. {_rate(facts)}".strip(),
        f"{_after_divergence(facts)} If the loss fell slowly, train for longer instead.",
    )


def _lost(facts: Facts) -> str:
    """The loss of a run that diverged, in words."""
    after, loss = f"After {words.count(facts.metrics['updates'], 'update')}", facts.metrics.get("loss")
    if facts.metrics.get("diverged") is not True or not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"{after} the loss was not a number any more."
    return (
        f"{after} the loss had grown to {words.quantity(loss)}; that of guessing is {GUESSING:.1f}; training was ended."
    )


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
    return (
        f"The mean loss of the last epoch was {words.quantity(last)}, that of all {count} steps {words.quantity(mean)}."
    )


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
    return f"The learning rate was {words.quantity(rate)}{scaled}{when}."


def _after_divergence(facts: Facts) -> str:
    rate = facts.metrics.get("learning_rate")
    tenth = f" (--rate {rate / _times(facts) / 10:.2g})" if isinstance(rate, int | float) else " (--rate)"
    smaller = f"Take a smaller learning rate{tenth}"
    if _sudden(facts):
        return f"{smaller}; then let it grow over the first epochs (--warmup 2)."
    if facts.run.params.get("scale") == "linear" and facts.ranks > 1:
        return f"{smaller}, or multiply it by the square root of the ranks only (--scale sqrt)."
    return f"{smaller}."


DIFFERENT = 0.05  # share by which Daly's interval differs from Young's, from which it is worth a word
FASTER = 0.02  # share of a step from which a faster exchange is worth a word
BASELINE = "Keep it as the baseline, and compare it with more ranks: how much sooner do they reach the target?"
NAMES = {
    "horovod": "Horovod",
    "mpi": "one MPI all-reduce",
    "mpi-overlap": "MPI all-reduces that overlap with computing",
    "hierarchical": "an all-reduce between hosts",
    "mpi-per-tensor": "an MPI all-reduce per tensor",
    "parameter-server": "a parameter server",
}


def reached(
    facts: Facts, following: Callable[[Facts], str] | None = None, score: str = "held_out_accuracy", measure: str = ""
) -> Finding | None:
    """How far and how fast a run trained; None for a run that trained nothing. `following` says what to do next, where
    a workload knows better than this module; `score` is the metric that tells how far, called `measure` in words."""
    metrics = facts.metrics
    if not has_trained(facts) or not metrics["updates"]:
        return None
    held_out, speed, parts = metrics.get(score), metrics.get("images_per_second"), metrics.get("seconds") or {}
    seconds, before = parts.get("train"), parts.get("earlier")
    came = f"to {measure}{percent(held_out)}" if number(held_out) else words.count(metrics["updates"], "update")
    took = f" in {words.seconds(seconds)}" if number(seconds) else ""
    took += f", after {words.seconds(before)} in earlier runs," if took and number(before) and before > 0 else ""
    fast = f" at {words.quantity(speed)} images/s" if number(speed) else ""
    why = [_exchanged(facts), _labels(facts), _target(facts), shares(facts)]
    return Finding(
        f"Trained {came}{took}{fast}.", " ".join(filter(None, why)), (following or _following)(facts), of_times=True
    )


def remarks(facts: Facts) -> list[str]:
    """Other facts: the earlier run that it went on from, and replacements for requested settings."""
    metrics, params = facts.metrics, facts.run.params
    lines = []
    if resumed := metrics.get("resumed"):
        source = str(params.get("resume") or "")
        whose = f"run {source}'s checkpoint" if source.isdigit() else "a checkpoint"
        lines.append(
            f"It went on from {whose}, with {words.count(resumed['epoch'], 'epoch')} and "
            f"{words.count(resumed['update'], 'update')} done."
        )
        if differs := resumed.get("differs"):
            lines.append(f"It went on with {_other(differs)} than before, so it isn't the run that it would have been.")
    lines += _faster_exchange(facts)
    lines += _shorter(facts)
    if params.get("data") == "auto" and "digits" in str(metrics.get("data")):
        lines.append(f"It trained on {metrics['data']}, because MNIST is not here.")
    if params.get("checkpoint") == "off":
        lines.append("It keeps no checkpoint to go on from.")
    return lines + _checkpoint_interval(facts)


def _checkpoint_interval(facts: Facts) -> list[str]:
    """Sentences on the measured cost of a checkpoint and the interval that it suggests; none where the run doesn't tell
    of both, or where all ranks wrote."""
    metrics, params = facts.metrics, facts.run.params
    figures, mtbf, steps = metrics.get("checkpoints") or {}, params.get("mtbf"), metrics.get("measured_steps")
    blocked, processor = figures.get("seconds_blocked"), figures.get("seconds_processor")
    if not (number(blocked) and number(processor) and number(mtbf) and steps) or params.get("checkpoint") != "rank0":
        return []
    step = max(sum(seconds[0] for seconds in metrics["phases"].values()) / steps, params.get("pace") or 0.0)
    blocked, processor = blocked / (figures["written"] + figures["left_out"]), processor / figures["written"]
    cost, failures = blocked + processor, 3600 * mtbf
    best, higher, interval = young(cost, failures), daly(cost, failures), figures["interval_steps"]
    if step <= 0 or best <= 0:
        return []
    often = max(round(best / step), 1)
    also = f" (Daly's, of higher order, is {words.seconds(higher)})" if abs(higher - best) > DIFFERENT * best else ""
    far = often <= metrics["updates"] and not interval / 2 <= often <= 2 * interval
    option = f" (--checkpoint-every {often})" if far else ""
    lines = [
        f"A checkpoint cost up to {words.seconds(cost)} of training: rank 0 stopped for {words.seconds(blocked)}, "
        f"and writing took {words.seconds(processor)} of processor time beside it.",
        f"If a failure comes every {mtbf:g} h on average (mtbf), Young's interval is {words.seconds(best)}{also}, one "
        f"checkpoint every {words.count(often, 'step')}{option}; this run's is {words.count(interval, 'step')}.",
    ]
    if left_out := figures["left_out"]:
        lines.append(
            f"{words.count(left_out, 'checkpoint')} {words.verb(left_out, 'was', 'were')} left out, because earlier "
            "ones were still being written."
        )
    return lines


def _faster_exchange(facts: Facts) -> list[str]:
    """A sentence on the exchange `mpi`, where that would shorten a step by `FASTER` or more."""
    metrics = facts.metrics
    mpi, steps = metrics.get("mpi_seconds"), metrics.get("measured_steps")
    if not number(mpi) or not steps or facts.times is None:
        return []
    horovod = min(metrics["phases"]["communicate"]) / steps
    step = sum(seconds[0] for seconds in metrics["phases"].values()) / steps
    gain = (horovod - mpi) / step if step else 0.0
    if gain < FASTER:
        return []
    return [
        f"Horovod took {words.seconds(horovod)} to exchange the gradients of a step; one all-reduce of mpi4py, timed "
        f"after the training, took {words.seconds(mpi)}. A step could be {words.percent(gain)} shorter with it "
        "(--exchange mpi), and the result would be the same except for rounding."
    ]


def _shorter(facts: Facts) -> list[str]:
    """Sentences on the bytes that a compression saved, and on the exchange during the computation."""
    lines, metrics = [], facts.metrics
    short = facts.run.params.get("compression")
    sent, size = metrics.get("bytes_per_step"), metrics.get("gradient_bytes")
    if short not in (None, "none") and sent and number(size) and sent < size:
        lines.append(
            f"With the compression {short}, rank 0 handed over {words.size(sent)} in each step; the gradients have "
            f"{words.size(size)}."
        )
    if number(hidden := metrics.get("hidden")):
        lines.append(
            f"{words.capital(words.percent(hidden))} of the exchange's time passed while the ranks still computed "
            "gradients."
        )
    return lines


# Settings as they are spoken of; what isn't here is called by its name.
SETTINGS = {
    "rate": "learning rate",
    "scale": "scaling of the rate",
    "warmup": "warm-up",
    "shard": "sharding",
    "divide": "division of the steps",
}


def _other(differs: Sequence[str]) -> str:
    """Differences from the run that wrote the checkpoint, such as another seed, batch or data."""
    numbers = [name for name in ("ranks", "images") if name in differs]
    settings = [SETTINGS.get(name, name) for name in differs if name not in (*numbers, "digest")]
    settings += [f"number of {words.listed(numbers)}"] if numbers else []
    parts = [f"another {words.listed(settings)}"] if settings else []
    return ", and ".join([*parts, "other data"] if "digest" in differs else parts)


def _exchanged(facts: Facts) -> str:
    metrics = facts.metrics
    epochs = metrics.get("epochs")
    length = f"{words.count(epochs, 'epoch')}, {words.count(metrics['updates'], 'update')}" if epochs else ""
    if isinstance(metrics.get("iterations"), int):
        length = words.count(metrics["iterations"], "iteration")
    way = NAMES.get(metrics["exchange"], metrics["exchange"])
    over = f"{facts.ranks} ranks over {way}" if facts.ranks > 1 else "one rank"
    return f"{words.capital(length or 'training')} on {over}."


def _labels(facts: Facts) -> str:
    """How many of the images had labels, where not all have."""
    labelled, others = (facts.metrics.get(name) for name in ("labelled_images", "unlabelled_images"))
    if not isinstance(labelled, int) or not isinstance(others, int):
        return ""
    if not others:
        return f"The classifier learned from {words.count(labelled, 'labelled image')} alone."
    return f"{words.capital(words.count(labelled, 'image'))} had a label, {words.quantity(others)} had none."


def _target(facts: Facts) -> str:
    metrics = facts.metrics
    target, seconds = metrics.get("target"), metrics.get("time_to_target")
    if not number(target):
        return ""
    aim = percent(target)
    if not number(seconds):
        return f"It didn't come to the target of {aim}."
    return f"The target of {aim} was reached after {words.seconds(seconds)} of training ({_after(metrics)})."


def _after(metrics: Mapping[str, Any]) -> str:
    if isinstance(iterations := metrics.get("iterations_to_target"), int):
        return words.count(iterations, "iteration")
    epochs = metrics.get("epochs_to_target")
    return words.count(epochs, "epoch") if isinstance(epochs, int) and epochs else "within the first epoch"


def _following(facts: Facts) -> str:
    params = facts.run.params
    epochs = params.get("epochs")
    if missed(facts) and isinstance(epochs, int):
        twice, word = (2 * params["steps"], "steps") if _cut_short(facts) else (2 * epochs, "epochs")
        return f"Train for longer (--{word} {twice}), and see whether it comes to its target."
    if facts.ranks == 1:
        return BASELINE
    return (
        f"{against_one(facts)} Or switch off a step of the recipe, such as the broadcast (--broadcast no), and see "
        "what breaks."
    )


def missed(facts: Facts) -> bool:
    """Whether the run had a target that it didn't reach."""
    return number(facts.metrics.get("target")) and facts.metrics.get("time_to_target") is None


def against_one(facts: Facts) -> str:
    """The question how much the ranks gained."""
    return f"Compare with {words.ranks(1)}: how close to {facts.ranks} times as fast is it?"


def _cut_short(facts: Facts) -> bool:
    """Whether it was `--steps` that ended the run, before all of its epochs were done."""
    metrics, params = facts.metrics, facts.run.params
    steps, epochs = params.get("steps"), metrics.get("epochs")
    if not isinstance(steps, int) or not isinstance(epochs, int):
        return False
    updates: int = metrics["updates"] - ((metrics.get("resumed") or {}).get("update") or 0)
    return bool(epochs < params["epochs"]) and updates >= steps


MUCH = 0.25  # share of training and evaluation from which it is worth a word


def evaluating(facts: Facts) -> Finding | None:
    """Evaluation that takes a good part of the time, of runs that can choose how often and by whom."""
    metrics, params = facts.metrics, facts.run.params
    every, evaluations = params.get("evaluate_every"), metrics.get("evaluations")
    if not isinstance(every, int) or not isinstance(evaluations, int) or not evaluations:
        return None
    share = evaluation_share(facts.run)
    if share is None or share < MUCH:
        return None
    alone = params.get("evaluate_by") == "rank0" and facts.ranks > 1
    by_images = params.get("evaluate_unit") == "images" and facts.ranks > 1
    often = f"{words.count(evaluations, 'evaluation')} in {words.count(metrics.get('updates', 0), 'iteration')}"
    why = f"There {'was' if evaluations == 1 else 'were'} {often}"
    why += f", as they go by the images that all {facts.ranks} ranks read" if by_images else ""
    why += f"; rank 0 made them alone{_waited(metrics.get('evaluate_wait'))}." if alone else "."
    if alone:
        following = "Let all ranks share the held-out images (--evaluate-by all)"
        following += f"{' and count iterations (--evaluate-unit iterations)' * by_images}, and compare."
    elif by_images:
        following = "Evaluate after iterations, however many ranks there are (--evaluate-unit iterations), and compare."
    elif evaluations > 1:
        following = f"Evaluate less often (--evaluate-every {2 * every}), and compare."
    else:
        following = f"Train for longer, or evaluate fewer images{_fewer(metrics.get('held_out_images'))}, and compare."
    return Finding(f"Evaluation takes {words.percent(share)} of the time.", why, following)


def _fewer(images: Any) -> str:
    """The setting that takes half as many."""
    return f" (--evaluate-images {images // 2})" if isinstance(images, int) and images > 1 else ""


def _waited(waited: Any) -> str:
    """How long the other ranks have waited for it, on average."""
    if not isinstance(waited, Sequence) or len(waited) < 2:
        return ""
    return f", for which the others waited {words.seconds(sum(waited[1:]) / (len(waited) - 1))}"
