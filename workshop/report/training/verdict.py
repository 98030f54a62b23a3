"""The verdict of workloads that train: what missing steps of the recipe of data-parallel training have broken, with the
measured damage, then the result. Where nothing broke, it says that, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from workshop.core import words
from workshop.extension import Observations, Verdict
from workshop.report.analysis import placement, timing
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent
from workshop.report.training import outcome, time_use
from workshop.report.training.outcome import diverged, diverging
from workshop.report.training.time_use import has_trained, is_independent

NOISE = 1e-6  # spread up to which weights differ by rounding only

# Finding: it broke something. Text: it was left out, but makes no difference here. None: nothing to say.
Check = Callable[[Facts], Finding | str | None]


def recipe(facts: Facts, totals: Totals) -> tuple[list[Finding], list[str]]:
    """The faults of a training run, the worst first, and remarks on missing steps without consequences."""
    if not has_trained(facts):
        return _under_way(facts), []
    checks: Sequence[Check] = (_separate, _same_images, _undivided, _unscaled, _rank_zero_only, _overwritten)
    results: list[Finding | str | None] = [diverging(facts, totals)]
    if facts.ranks > 1:
        results += [check(facts) for check in checks]
    else:
        results.append(_left_out(facts))
    return [result for result in results if isinstance(result, Finding)], [
        result for result in results if isinstance(result, str)
    ]


# The effect of a missing step, in words for a run that still goes on. Its result is known at the end only.
UNDER_WAY = {
    "broadcast": (
        "The ranks train different networks.",
        "The broadcast was left out: each rank began with weights of its own, and averaged gradients don't make "
        "different weights alike.",
    ),
    "shard": (
        "Every rank reads the same images.",
        "They were not divided into shards: all ranks compute the same gradients, whose mean is no better than one.",
    ),
    "divide": (
        "The ranks do not share the work.",
        "The steps were not divided: each rank takes as many as one alone would.",
    ),
    "average": (
        "The loss and accuracy shown are rank 0's alone.",
        "They are not averaged over the ranks, each of which sees its own images only.",
    ),
}


def _under_way(facts: Facts) -> list[Finding]:
    """The known faults of a training run that still goes on."""
    if facts.ranks < 2 or not isinstance(facts.metrics.get("exchange"), str):
        return []
    return [
        Finding(*words_of_fault, f"Let it end, and read what that came to; then compare with --{name} yes.")
        for name, words_of_fault in UNDER_WAY.items()
        if facts.run.params.get(name) is False
    ]


def _left_out(facts: Facts) -> str | None:
    """The steps of the recipe that a run of one rank went without."""
    params = facts.run.params
    off = [name for name in ("broadcast", "shard", "divide", "average") if params.get(name) is False]
    off += ["scale"] if params.get("scale") == "none" else []
    same = [f"to leave out {words.listed(off)}"] if off else []
    same += ["who writes the checkpoint"] if params.get("checkpoint") == "every-rank" else []
    return f"With one rank it makes no difference {', nor '.join(same)}." if same else None


def _separate(facts: Facts) -> Finding | str | None:
    """Ranks that train different networks."""
    metrics = facts.metrics
    hashes, end = metrics.get("weights"), metrics.get("spread")
    if not isinstance(hashes, Sequence) or not number(end):
        return None
    different, left_out = len(set(hashes)), facts.run.params.get("broadcast") is False
    if different < 2:
        return "The broadcast was left out, but the ranks ended with the same weights." if left_out else None
    if end <= NOISE and not left_out and not is_independent(facts):
        return None
    begin = metrics.get("spread_before")
    since = f", at the start {_distance(begin)}" if left_out and number(begin) else ""
    weights = (
        f"at the end the {facts.ranks} ranks have {different} different sets of weights, up to {_distance(end)} from "
        f"their mean{since}."
    )
    if is_independent(facts):
        scaled = " The learning rate was scaled for the ranks, although each of them works with its own batch only."
        return Finding(
            "The ranks train different networks: they exchange nothing.",
            f"Each rank goes its own way: {weights}{scaled * (facts.run.params.get('scale') in ('linear', 'sqrt'))}",
            f"Let the ranks exchange gradients (--exchange auto){' and broadcast (--broadcast yes)' * left_out}.",
        )
    if left_out:
        return Finding(
            "The ranks train different networks.",
            f"Without the broadcast each rank began with weights of its own; all of them make the same updates, which "
            f"doesn't make different weights equal: {weights}",
            "Turn the broadcast on (--broadcast yes), and compare the two runs.",
        )
    return Finding(
        "The ranks ended with different networks, although they exchange gradients.",
        f"With broadcast and exchange all should have the same weights, but {weights}",
        f"Try another exchange than {metrics['exchange']} (--exchange mpi): if the ranks agree then, this one doesn't "
        "reduce the gradients.",
    )


def _distance(spread: float) -> str:
    """A relative distance of weights."""
    return percent(spread)


def _same_images(facts: Facts) -> Finding | str | None:
    metrics = facts.metrics
    read, distinct, images = (metrics.get(name) for name in ("images_read", "distinct_images", "train_images"))
    if facts.run.params.get("shard") is not False or not read or not distinct:
        return None
    if distinct >= read:
        return "The images were not sharded, but no image was read twice in an epoch."
    missed = (
        f" The other {words.quantity(images - distinct)} images were left out of it."
        if isinstance(images, int) and images > distinct
        else ""
    )
    return Finding(
        "Every rank reads the same images.",
        f"In an epoch the {facts.ranks} ranks read {words.quantity(read)} images, of which "
        f"{words.quantity(distinct)} were different: each was read {words.quantity(read / distinct)} times."
        f"{missed} The mean of equal gradients is what one rank has by itself, so that the others add nothing.",
        "Turn the shards on (--shard yes), and compare the two runs.",
    )


def _undivided(facts: Facts) -> Finding | None:
    metrics = facts.metrics
    read, images, batch = metrics.get("images_read"), metrics.get("train_images"), facts.run.params.get("batch")
    if facts.run.params.get("divide") is not False or not read or not images or read <= images:
        return None
    steps = math.ceil(read / facts.ranks / batch) if batch else 0
    seconds, epochs = (metrics.get("seconds") or {}).get("train"), _epochs(facts)
    took = f", and took {words.seconds(seconds / epochs)}" if epochs and number(seconds) else ""
    divided = math.ceil(math.ceil(images / facts.ranks) / batch) if batch else 0
    if steps and steps == divided:  # one batch holds either
        return None
    many = f" {words.count(steps, 'step')}" if steps else " as many steps"
    alone = f"; divided, it would have {divided}" if batch else ""
    return Finding(
        f"Every image is read {read / images:.2g} times in an epoch: its steps are not divided among the ranks.",
        f"An epoch had{many}, as on one rank alone{alone}. It read {words.quantity(read)} images, where there are "
        f"{words.quantity(images)}{took}: more ranks don't make it any shorter.",
        "Divide the steps (--divide yes), and compare the time of an epoch.",
    )


def _epochs(facts: Facts) -> int:
    """The epochs of this run, without an earlier run's; 0 where it ended within the first one."""
    resumed = facts.metrics.get("resumed") or {}
    done = (facts.metrics.get("epochs") or 0) - (resumed.get("epoch") or 0)
    return 0 if facts.metrics.get("stopped") or facts.run.params.get("steps") else max(done, 0)


def _unscaled(facts: Facts) -> Finding | None:
    metrics, params = facts.metrics, facts.run.params
    # Measured runs are those of studies and benchmarks: strong scaling divides the batch, and leaves the rate.
    if params.get("scale") != "none" or is_independent(facts) or facts.run.measured:
        return None
    batch, rate, images, epochs = (
        params.get("batch"),
        metrics.get("learning_rate"),
        metrics.get("train_images"),
        _epochs(facts),
    )
    together = f"{facts.ranks} × {batch} = {words.quantity(facts.ranks * batch)}" if batch else "more"
    at = f", {words.quantity(rate)}," if number(rate) else ""
    fewer = ""
    if batch and images and epochs and params.get("divide") is not False:
        alone = math.ceil(images / batch) * epochs
        updates = metrics["updates"] - ((metrics.get("resumed") or {}).get("update") or 0)
        fewer = (
            f" There were {words.count(updates, 'update')} in {words.count(epochs, 'epoch')}, where one rank alone "
            f"would have made {alone} of the same size."
        )
    adam = params.get("optimizer") == "adam"
    return Finding(
        "The learning rate is for one rank, the batch is not.",
        f"Each update averages {together} images, {facts.ranks} times those of one rank, and steps no further: the "
        f"rate{at} was left as it was.{fewer}",
        "Multiply the rate by the ranks (--scale linear) or, which Adam often bears better, by their square root "
        "(--scale sqrt), and compare."
        if adam
        else "Multiply the rate by the ranks (--scale linear), and compare.",
    )


def _rank_zero_only(facts: Facts) -> Finding | str | None:
    metrics = facts.metrics
    each = metrics.get("held_out_accuracy_ranks")
    if facts.run.params.get("average") is not False or not isinstance(each, Sequence):
        return None
    accuracies = [value for value in each if number(value)]
    if len(accuracies) < 2 or not number(each[0]):
        return None
    if max(accuracies) - min(accuracies) < 5e-4:
        return "Loss and accuracy are rank 0's alone, which here are those of all ranks."
    others = accuracies[1:]
    low, high = percent(min(others)), percent(max(others))
    share = metrics.get("held_out_images")
    images = f" on {words.quantity(share / facts.ranks)} of the {share} held-out images" if share else ""
    return Finding(
        "The accuracy told is rank 0's alone.",
        f"Rank 0 came to {percent(each[0])}{images}, "
        f"the other{'' if len(others) == 1 else 's'} to {low if low == high else f'{low} to {high}'}; the mean of all "
        f"is {percent(sum(accuracies) / len(accuracies))}. The curves of loss and accuracy are rank 0's, too.",
        "Average them over all ranks (--average yes).",
    )


def _overwritten(facts: Facts) -> Finding | None:
    checkpoints = facts.metrics.get("checkpoints")
    if (
        facts.run.params.get("checkpoint") != "every-rank"
        or not checkpoints
        or checkpoints["written"] <= checkpoints["kept"]
    ):
        return None
    lost = checkpoints["written"] - checkpoints["kept"]
    wasted = words.size(checkpoints["bytes"] * lost / checkpoints["written"])
    return Finding(
        "Checkpoints overwrite each other.",
        f"{facts.ranks} ranks wrote {checkpoints['written']} checkpoints under the same name; {lost} of them, "
        f"{wasted}, {'was' if lost == 1 else 'were'} overwritten at once. {_contents(facts)}",
        "Let rank 0 alone write (--checkpoint rank0).",
    )


def _contents(facts: Facts) -> str:
    """Whether it matters which of the checkpoints under one name was kept."""
    metrics, hashes = facts.metrics, facts.metrics.get("weights")
    if not metrics["checkpoints"]["differ"]:
        return "All held the same weights and the same state of the optimizer, so that nothing was lost but the time."
    if not isinstance(hashes, Sequence) or len(set(hashes)) != 1:
        return "They were not the same, so that chance decides which network is kept."
    state = "state of the optimizer"
    if metrics["exchange"] == "parameter-server":
        state += ", which with a parameter server only rank 0 has"
    return f"The weights were the same, but not the {state}: chance decides how a run goes on from it."


CHECKS = (
    placement.on_one_host,
    placement.oversubscribed,
    timing.delayed,
    time_use.straggling,
    time_use.talking,
    outcome.evaluating,
    time_use.restless,
    timing.reading,
    placement.idle,
    placement.unbound,
)


def observe(facts: Facts, totals: Totals) -> Observations:
    """The faults of a training run, and remarks on it."""
    faults, remarks = recipe(facts, totals)
    return Observations(faults, [*remarks, *outcome.remarks(facts)], time_use.shares(facts), diverged(facts))


VERDICT = Verdict(outcome.reached, checks=lambda facts: CHECKS, observe=observe)
