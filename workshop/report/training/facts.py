"""Facts of training runs, by the names that the rules of training use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.engine.training.checkpoint import young
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.training.waits import evaluation_share, waiting

GUESSING = math.log(10)  # cross-entropy of a network that finds each of the ten digits equally probable

RECIPE = {"broadcast": False, "shard": False, "divide": False, "average": False, "scale": "none"}
COUNTED = ("ranks", "images")  # settings that are named last: another seed and number of ranks
# Settings as they are spoken of; what isn't here is called by its name.
SETTINGS = {
    "rate": "learning rate",
    "scale": "scaling of the rate",
    "warmup": "warm-up",
    "shard": "sharding",
    "divide": "division of the steps",
    "ranks": "number of ranks",
    "images": "number of images",
}


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """All of them; None for what the run doesn't tell."""
    metrics, params = facts.metrics, facts.run.params
    exchange, resumed = metrics.get("exchange"), metrics.get("resumed") or {}
    trained = isinstance(exchange, str) and isinstance(metrics.get("updates"), int)
    losses = [metrics.get(name) for name in ("loss", "held_out_loss")]
    lost = any(isinstance(value, float) and not math.isfinite(value) for value in losses)
    count, total, *_ = (totals.get("loss") or {}).get(0, (0, 0.0, None, None))
    factor = {"linear": float(facts.ranks), "sqrt": math.sqrt(facts.ranks)}.get(str(params.get("scale")), 1.0)
    differs = resumed.get("differs") or []
    # Steps of the recipe that it went without.
    left_out = [name for name, off in RECIPE.items() if name in params and params[name] == off]
    epochs, rate = (metrics.get("epochs") or 0) - (resumed.get("epoch") or 0), metrics.get("learning_rate")
    updates = metrics["updates"] - (resumed.get("update") or 0) if trained else 0
    return {
        "trained": trained,  # a model on all ranks
        "independent": exchange == "none",  # the ranks exchanged nothing, so that no rank waited
        "diverged": lost or metrics.get("diverged") is True,
        "mean_loss": total / count if count and math.isfinite(total) else None,  # of all steps of this run
        "loss_events": count,
        "guessing": GUESSING,
        "rate_factor": factor,  # by which the learning rate of one rank was multiplied
        "rate_of_one": rate / factor if number(rate) else None,
        "sudden": factor > 1 and params.get("warmup") == 0,  # the scaled rate was there from the first step on
        "missed": number(metrics.get("target")) and metrics.get("time_to_target") is None,
        "own_epochs": epochs,  # without those of an earlier run
        "own_updates": updates,
        "whole_epochs": 0 if metrics.get("stopped") or params.get("steps") else max(epochs, 0),
        "cut_short": trained
        and all(isinstance(value, int) for value in (params.get("steps"), metrics.get("epochs")))
        and metrics["epochs"] < params["epochs"]
        and updates >= params["steps"],
        "different": len(set(hashes)) if isinstance(hashes := metrics.get("weights"), Sequence) else None,
        "left_out": left_out if trained and facts.ranks == 1 else None,
        "differs": [SETTINGS.get(name, name) for name in sorted(differs, key=COUNTED.__contains__) if name != "digest"],
        "other_data": "digest" in differs,
        "waits": waiting(facts.run),
        "evaluation_share": evaluation_share(facts.run),
        "largest_batch": _largest_batch(facts),
        **_steps(facts),
        **_checkpoint_interval(metrics, params),
    }


def _steps(facts: Facts) -> dict[str, Any]:
    """Steps of an epoch as they were, with divided work, and on one rank alone; seconds of a measured step."""
    metrics, batch = facts.metrics, facts.run.params.get("batch")
    read, images = metrics.get("images_read"), metrics.get("train_images")
    phases, measured = metrics.get("phases") or {}, metrics.get("measured_steps")
    return {
        "steps_taken": math.ceil(read / facts.ranks / batch) if batch and read else None,
        "steps_divided": math.ceil(math.ceil(images / facts.ranks) / batch) if batch and images else None,
        "steps_alone": math.ceil(images / batch) if batch and images else None,
        "step_seconds": sum(seconds[0] for seconds in phases.values()) / measured if measured else None,
        "exchange_seconds": min(phases["communicate"]) / measured if measured and "communicate" in phases else None,
    }


def _largest_batch(facts: Facts) -> int | None:
    """A batch of twice the size, or as large as a rank's share of the images allows."""
    metrics, params = facts.metrics, facts.run.params
    batch, images = params.get("batch"), metrics.get("unlabelled_images") or metrics.get("train_images")
    if not isinstance(batch, int):
        return None
    most: list[int] = [2 * batch, *(metrics.get("shards") or [])]
    if images and params.get("divide") is not False:
        most.append(images // facts.ranks)  # without shards each rank holds all images, but reads its share of them
    return min(most)


def _checkpoint_interval(metrics: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """The measured cost of a checkpoint, and the interval that it suggests; nothing where the run doesn't tell of both,
    or where all ranks wrote."""
    figures, mtbf, steps = metrics.get("checkpoints") or {}, params.get("mtbf"), metrics.get("measured_steps")
    blocked, processor = figures.get("seconds_blocked"), figures.get("seconds_processor")
    if not (number(blocked) and number(processor) and number(mtbf) and steps) or params.get("checkpoint") != "rank0":
        return {}
    step = max(sum(seconds[0] for seconds in metrics["phases"].values()) / steps, params.get("pace") or 0.0)
    blocked, processor = blocked / (figures["written"] + figures["left_out"]), processor / figures["written"]
    best = young(blocked + processor, 3600 * mtbf)
    if step <= 0 or best <= 0:
        return {}
    return {
        "checkpoint_blocked": blocked,
        "checkpoint_processor": processor,
        "young": best,
        "young_steps": max(round(best / step), 1),
    }
