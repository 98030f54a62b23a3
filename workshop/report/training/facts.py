"""Facts of training runs, by the names that the rules of training use: among them, who waited for whom."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, TypeGuard

from workshop.core import words
from workshop.engine.training.checkpoint import young
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.analysis.threads import Oversubscription, cores_of, oversubscription, threads_of
from workshop.store.records import RunRecord

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


HARDLY = 0.03  # of a step: waiting below that is how much steps differ anyway
MOSTLY = 0.7  # share of the lateness that those have together who are named for it


Cause = Literal["shares", "fewer", "host", "server", "input", "checkpoint", "unknown"]
LATE = ("last", "late_by")  # metrics: in how many steps each rank came last, and how late it then was


@dataclass(frozen=True)
class WaitingTime:
    """Seconds are means over the measured steps; lists are in rank order. An exchange ends when the last rank arrives:
    its delay after the rank before it is what it costs all others. `late` are the fewest ranks that have most of these
    costs, empty where nobody waited to speak of (`hardly`), and where all were late in turns."""

    step: float  # seconds that a step takes
    waited: tuple[float, ...]  # seconds of each rank in a step
    last: tuple[int, ...]  # steps in which each rank came last
    late: tuple[int, ...]
    kind: Cause
    cause: str  # "shares core 0 with rank 0"; "" where none can be seen
    places: str  # "core 1": where the late ones run; "" where that isn't known

    @property
    def share(self) -> float:
        """Of the ranks' time."""
        return fmean(self.waited) / self.step if self.step > 0 else 0.0

    @property
    def hardly(self) -> bool:
        return self.share < HARDLY

    @property
    def disturbed(self) -> bool:
        """Whether those who cost most came last no more often than by chance, for no cause that could be seen."""
        steps, often = sum(self.last), sum(self.last[rank] for rank in self.late)
        return self.kind == "unknown" and bool(self.late) and often * len(self.last) <= steps * len(self.late)

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(rank for rank in range(len(self.waited)) if rank not in self.late)

    @property
    def sentence(self) -> str:
        """Who waited for whom: "Ranks 0 and 2 waited 20 ms a step for rank 1, which shares core 0 with rank 0."."""
        step, mean = words.seconds(self.step), words.seconds(fmean(self.waited))
        if self.hardly:
            return f"The ranks hardly waited for each other: {mean} of a step of {step}."
        steps, came = sum(self.last), sum(self.last[rank] for rank in self.late)
        late = words.numbered("rank", self.late)
        if not self.late:
            return (
                f"The ranks took turns at being late: no rank came last in more than {max(self.last)} of {steps} "
                f"steps, and on average a rank waited {mean} of a step of {step}."
            )
        if self.disturbed:
            return (
                f"On average a rank waited {mean} of a step of {step}, most of it for {late}, last in only {came} of "
                f"{steps} steps: these steps were disturbed."
            )
        spent = words.seconds(fmean(self.waited[rank] for rank in self.others))
        start = f"{words.capital(words.numbered('rank', self.others))} waited {spent} a step for {late}"
        if self.cause:
            return f"{start}, which {self.cause}."
        look = f", so see what else works on {self.places}" if self.places else ""
        return f"{start}, last in {came} of {steps} steps; nothing in where the ranks run explains it{look}."


def waiting(run: RunRecord) -> WaitingTime | None:
    """Which ranks waited for which. None where the run has no such metrics, has one rank, or exchanges nothing."""
    metrics, steps = run.metrics, run.metrics.get("measured_steps")
    if not steps or metrics.get("exchange") == "none" or not {"phases", *LATE} <= metrics.keys():
        return None
    parts = [metrics["phases"][name] for name in ("input", "compute", "communicate", "wait")]
    last, late_by = (metrics[name] for name in LATE)
    ranks = len(last)
    if ranks < 2:
        return None
    step = sum(sum(part) for part in parts) / ranks / steps
    waited = tuple(seconds / steps for seconds in parts[-1])
    costs = [count * late for count, late in zip(last, late_by, strict=True)]
    hardly = WaitingTime(step, waited, tuple(last), (), "unknown", "", "")
    if hardly.hardly:
        return hardly
    late = _late(costs, waited)
    kind, cause = _cause(run, late, [seconds / steps for seconds in parts[0]], max(waited))
    reports = [report for report in (run.rank_map or {}).get("ranks") or [] if report["rank"] in late]
    cores = {core for report in reports for core in report["cores"]}
    places = words.numbered("core", sorted(cores)) if cores else ""
    return WaitingTime(step, waited, tuple(last), late, kind, cause, places)


def _late(costs: Sequence[float], waited: Sequence[float]) -> tuple[int, ...]:
    """The fewest ranks that have most of the costs; nobody where several such ranks wait much themselves."""
    total = sum(costs)
    order = sorted(range(len(costs)), key=lambda rank: -costs[rank])
    for count in range(1, len(costs)):
        late = order[:count]
        if sum(costs[rank] for rank in late) >= MOSTLY * total > 0:
            others = fmean(waited[rank] for rank in order[count:])
            if count > 1 and others < 2 * fmean(waited[rank] for rank in late):
                return ()
            return tuple(sorted(late))
    return ()


def _cause(run: RunRecord, late: tuple[int, ...], inputs: Sequence[float], waited: float) -> tuple[Cause, str]:
    """Why these ranks are late, as far as their places and their phases show it."""
    if not late:
        return "unknown", ""
    reports = {report["rank"]: report for report in (run.rank_map or {}).get("ranks") or []}
    each, has, is_on = (" each", "have", "are on") if len(late) > 1 else ("", "has", "is on")
    for crowd in oversubscription(run.rank_map, run.machine, threads_of(run)):
        if set(late) <= set(crowd.ranks):
            return "shares", _sharing(crowd, late, _cores(run, crowd))
    if all(rank in reports for rank in range(len(inputs))):
        late_hosts = {reports[rank]["host"] for rank in late}
        other_hosts = {reports[rank]["host"] for rank in reports if rank not in late}
        for key, word in (("cores", "core"), ("units", "hardware thread")):
            most = max(len(reports[rank][key]) for rank in late)
            least = min(len(report[key]) for rank, report in reports.items() if rank not in late)
            if 0 < most < least:
                return "fewer", f"{has} {words.count(most, word)}{each} where the others have {least}"
        if len(late_hosts) == 1 and not late_hosts & other_hosts:
            return "host", f"{is_on} another host, {late_hosts.pop()}"
    if run.metrics.get("exchange") == "parameter-server" and late == (0,):
        return "server", "collects all gradients and sends the weights to everybody"
    read = fmean(inputs[rank] for rank in late)
    others = fmean(seconds for rank, seconds in enumerate(inputs) if rank not in late)
    if read - others > waited / 2:
        take = f"{'take' if each else 'takes'} {words.seconds(read)} to read the input of a step"
        return "input", f"{take} where the others take {words.seconds(others)}"
    written = _checkpoint_seconds(run)
    if late == (0,) and written > waited / 2:
        return "checkpoint", f"writes the checkpoints, which takes up to {words.seconds(written)} a step"
    return "unknown", ""


def _checkpoint_seconds(run: RunRecord) -> float:
    """Seconds of a step that rank 0 loses at most by checkpoints within epochs; 0 where it writes none there."""
    figures = run.metrics.get("checkpoints") or {}
    costs: list[Any] = [figures.get("seconds_blocked"), figures.get("seconds_processor")]
    within = run.params.get("checkpoint_every") and run.params.get("checkpoint") == "rank0"
    return sum(costs) / run.metrics["measured_steps"] if within and all(map(number, costs)) else 0.0


def _cores(run: RunRecord, crowd: Oversubscription) -> list[int]:
    """The cores in which a crowd's units lie; the units' own numbers where the machine isn't known."""
    core_of = cores_of(run.machine)
    return sorted({core_of.get((crowd.host, unit), unit) for unit in crowd.units})


def _sharing(crowd: Oversubscription, late: tuple[int, ...], cores: list[int]) -> str:
    where, others = words.numbered("core", cores), [rank for rank in crowd.ranks if rank not in late]
    if not others and len(late) == 1:
        return f"runs {crowd.threads} threads on {where}"
    share = f"{'share' if len(late) > 1 else 'shares'} {where}"
    return f"{share} with {words.numbered('rank', others)}" if others else share


# Names of `metrics.seconds`, and how their parts are called; in the order in which they are shown.
NAMES = {"train": "training", "evaluate": "evaluation", "prepare": "preparation"}
WAIT, REST = "wait", "rest"


def spent(run: RunRecord) -> dict[str, float]:
    """A run's seconds by kind: training (steps without waiting), wait (on average over the ranks), evaluation,
    preparation (with the first steps, which compile), and the rest. Empty where it tells no `seconds` of training."""
    seconds = run.metrics.get("seconds")
    if not isinstance(seconds, Mapping) or not _seconds(seconds.get("train")):
        return {}
    parts = {name: float(seconds[key]) for key, name in NAMES.items() if _seconds(seconds.get(key))}
    if first := _first_steps(run, parts["training"]):
        parts["training"] -= first
        parts["preparation"] = parts.get("preparation", 0.0) + first
    if waited := (run.metrics.get("phases") or {}).get("wait"):
        trained = parts.pop("training")
        waits = min(fmean(waited), trained)
        parts = {"training": trained - waits, WAIT: waits, **parts}
    if run.started_at is not None and run.finished_at is not None:
        rest = run.finished_at - run.started_at - sum(parts.values())
        parts[REST] = max(rest, 0.0)
    return {name: value for name, value in parts.items() if value > 0}


def as_long_run(run: RunRecord | None) -> dict[str, float]:
    """A run's seconds in training and in evaluation, as a long run would divide them, with all steps as fast as the
    measured ones: the first steps compile. Empty where it doesn't tell."""
    metrics: Mapping[str, Any] = run.metrics if run is not None else {}
    phases, steps = metrics.get("phases"), metrics.get("measured_steps")
    evaluate = (metrics.get("seconds") or {}).get("evaluate")
    if not phases or not steps or evaluate is None:
        return {}
    longest = max(sum(of_rank) for of_rank in zip(*phases.values(), strict=True))
    train = longest / steps * (metrics.get("iterations") or steps)
    return {"train": train, "evaluate": float(evaluate)} if train > 0 else {}


def evaluation_share(run: RunRecord) -> float | None:
    """Evaluation's share of the time of training and evaluation, as in figure 9 of Rawat and Kapoor 2021; None where a
    run doesn't tell."""
    parts = spent(run)
    work = sum(parts.get(name, 0.0) for name in ("training", WAIT, "evaluation"))
    return parts.get("evaluation", 0.0) / work if work > 0 else None


def _first_steps(run: RunRecord, trained: float) -> float:
    """Seconds of the first steps, which aren't measured: the seconds that the slowest rank `trained`, without its
    measured steps and the time to tell of all steps. 0 where the run doesn't tell."""
    phases, reporting_share = run.metrics.get("phases") or {}, run.metrics.get("telling_share")
    measured = max(map(sum, zip(*phases.values(), strict=True)), default=0.0)
    return max(trained * (1 - min(reporting_share, 1.0)) - measured, 0.0) if measured and reporting_share else 0.0


def _seconds(value: Any) -> TypeGuard[float]:
    return number(value) and value >= 0
