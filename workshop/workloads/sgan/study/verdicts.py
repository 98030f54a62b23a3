"""Verdict, why and next of each step, and the answers to its question: the facts that choose the verdict and that its
sentences contain. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from workshop.core import words
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import run_command
from workshop.report.analysis.threads import KINDS, openmp_matters, openmp_why
from workshop.study.guided.guesses import Answer
from workshop.study.guided.guide import Events, Step, Verdict
from workshop.study.guided.step_results import StepResults, gain, name
from workshop.study.results import CellResult, ranked
from workshop.workloads.sgan.study.cells import (
    AFTER,
    AS_FOUND,
    BEFORE,
    HOROVOD,
    INTEL,
    evaluation_seconds,
    evaluation_shares,
    threads_of,
)

WARM_UP = 1 / 3  # of the values, which say nothing
FEWEST = 8  # values that say something
EVALUATIONS = 100  # for which growth is reported
GROWS = 0.01  # share of the initial memory: less growth over so many evaluations is no noticeable leak
STILL = 0.25  # of the whole slope, that the second half must have as well: pools that fill up slow down


@dataclass(frozen=True)
class Growth:
    """Resident memory of one process over its evaluations."""

    values: tuple[float, ...]  # bytes, after each evaluation
    slope: float  # bytes that an evaluation adds
    late: float  # the same over the second half
    error: float  # twice the standard error of the slope
    grows: bool  # beyond chance and the filling of pools

    @property
    def steady(self) -> bool:
        """Whether growth that would be noticed is ruled out."""
        return self.added + self.uncertainty <= GROWS * self.values[0]

    @property
    def climbs(self) -> bool:
        """Whether the slope is more than chance, however small it is."""
        return self.slope > self.error

    @property
    def added(self) -> float:
        """Bytes that a hundred evaluations add."""
        return EVALUATIONS * self.slope

    @property
    def uncertainty(self) -> float:
        """The uncertainty of `added`, in bytes."""
        return EVALUATIONS * self.error

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"per_100": self.added, "per_100_error": self.uncertainty}


def growth(values: Sequence[float]) -> Growth | None:
    """The growth of resident memory [bytes after each evaluation]; None for too few values."""
    settled = list(values)[int(len(values) * WARM_UP) :]
    if len(settled) < FEWEST:
        return None
    slope, error = line(settled)
    late, _ = line(settled[len(settled) // 2 :])
    beyond = slope - 2 * error > 0 and EVALUATIONS * slope > GROWS * settled[0]
    return Growth(tuple(values), slope, late, 2 * error, bool(beyond and late > STILL * slope))


def line(values: Sequence[float]) -> tuple[float, float]:
    """Slope per value and its standard error, of at least three values, by least squares.

    Neighbouring values depend on each other, so the usual standard error is too small. It is multiplied by
    sqrt((1 + r) / (1 - r)), where r is the correlation of neighbouring residuals (Santer et al., Statistical
    significance of trends and trend differences in layer-average atmospheric temperature time series, Journal of
    Geophysical Research 105(D6), 2000).
    """
    count = len(values)
    middle, mean = (count - 1) / 2, sum(values) / count
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
    residuals = [value - mean - slope * (place - middle) for place, value in enumerate(values)]
    squares = sum(residual**2 for residual in residuals)
    if squares == 0:
        return slope, 0.0
    correlation = sum(residual * other for residual, other in pairwise(residuals)) / squares
    correlation = min(max(correlation, 0.0), 0.95)
    variance = squares / (count - 2) / spread
    return slope, math.sqrt(variance * (1 + correlation) / (1 - correlation))


Grown = Mapping[str, Growth]  # by the way to ask the classifier
LONG = 10_000  # evaluations of a training that takes days
SHORTENED = ("iterations", "evaluate_every", "evaluate_images", "trace")  # params of a trial that real runs don't have


def judge(findings: StepResults, step_key: str, events: Events) -> Verdict | None:
    """The verdict of a step; None if it hasn't measured enough."""
    return _VERDICTS[step_key](findings, findings.guide.step(step_key), events["memory"])


def _profile(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    cores = findings.setting.cores
    first, free = findings.at("a", cores=1), findings.at("a", cores=cores)
    run = findings.run(first)
    if first is None or run is None:
        return None
    why = []
    if census := threads_of(run):
        kinds = words.listed(f"{kind.count} {KINDS.get(kind.kind, kind.kind)}" for kind in census)
        count, busy = (sum(getattr(kind, field) for kind in census) for field in ("count", "busy"))
        why.append(step.say("threads", count=count, kinds=kinds, busy=busy))
    if seconds := run.metrics.get("seconds"):
        parts = words.listed(f"{part} {words.seconds(spent)}" for part, spent in seconds.items())
        why.append(step.say("time", parts=parts))
    if memory := max(run.metrics.get("memory") or [0]):
        why.append(step.say("memory", size=words.size(memory)))
    if free is not None and cores > 1:
        why.append(step.say("gain", cores=cores, gain=gain(free, first), doubt=_doubt(findings, free, first)))
    reasons = " ".join(why) or step.say("nothing")
    return step.judge("several" if cores > 1 else "single", speed=_speed(findings, first), cores=cores, why=reasons)


def _openmp(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    facts = _compared(findings, step)
    if facts is None:
        return None
    outcomes = {openmp_matters(run) for _, run in findings.measured("b")}
    worked = True if True in outcomes else False if False in outcomes else None  # None: no run tells
    reason = _openmp_reason(findings, "b", "OMP_NUM_THREADS")
    cause = reason if worked is not None else step.say("unknown")
    unread = " without OpenMP" if worked is False and facts["shown"] != "alike" else ""
    return step.judge(f"{facts['shown']}{unread}", **facts, reason=cause)


def _pools(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    facts = _compared(findings, step)
    if facts is None:
        return None
    ties = step.say("ties" if facts["ties"] else "no ties", alike=len(facts["ties"]), others=len(facts["order"]) - 1)
    return step.judge(facts["shown"], **facts | {"ties": ties})


def _ranks(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    facts = _compared(findings, step)
    if facts is None:
        return None
    cores, best, worst = findings.setting.cores, facts["order"][0], facts["order"][-1]
    alone = findings.at("d", ranks=1, threads=cores)
    ties, why = [name(cell) for cell in facts["ties"]], [step.say("best", **facts)]
    if alone is not None and best is not alone:
        all_cores = f"{'all ' if cores > 1 else ''}{words.count(cores, 'core')}"
        why.append(step.say("gain", gain=gain(best, alone), cores=all_cores))
    if ties:
        why.append(step.say("ties", alike=words.listed(ties), chance=facts["chance"]))
    if pruned := [name(cell) for cell in findings.results("d") if cell.status == "pruned"]:
        why.append(step.say("pruned", cells=words.listed(pruned), were="was" if len(pruned) == 1 else "were"))
    else:
        crowded = worst.placement["ranks"] * worst.point["threads"] > cores
        why.append(step.say("crowded" if crowded else "slowest", **facts))
    if best.point["ranks"] > 1 and cores > 1:
        why.append(step.say("ranks"))
    counts = {axis: words.count(best.point[axis], axis.removesuffix("s")) for axis in ("ranks", "threads")}
    return step.judge("alike" if ties else "apart", **counts, why=_joined(*why, findings.failures("d")))


def _memory(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    if not grown:
        return None
    ways = words.listed(f"{way} {how.added / 1e6:+.1f} ± {how.uncertainty / 1e6:.1f} MB" for way, how in grown.items())
    measured = step.say("measured", evaluations=EVALUATIONS, ways=ways)
    each = [f"{name(cell)} {words.seconds(seconds)}" for cell, seconds in evaluation_seconds(findings)]
    costs = step.say("costs", each=words.listed(each)) if each else ""
    leaking = [way for way, how in grown.items() if how.grows]
    unsure = [way for way, how in grown.items() if not how.grows and not how.steady]
    if leaking:
        steady = [way for way, how in grown.items() if how.steady and not how.grows]
        following = step.say("others", ways=words.listed(steady)) if steady else step.say("none")
        if unsure:
            following += step.say("not shown", ways=words.listed(unsure))
        return step.judge(
            "leaking",
            ways=words.listed(leaking),
            keep="keeps" if len(leaking) == 1 else "keep",
            added=max(grown[way].added for way in leaking) / 1e6,
            evaluations=EVALUATIONS,
            measured=measured,
            costs=costs,
            following=following,
        )
    if unsure:
        keep = words.verb(len(unsure), "keeps", "keep")
        return step.judge("unsure", ways=words.listed(unsure), keep=keep, measured=measured, costs=costs)
    climbing = [way for way, how in grown.items() if how.climbs]
    also = step.say("also", ways=words.listed(climbing)) if climbing else ""
    following = step.say("longer" if climbing and findings.setting.quick else "fastest")
    climb = _climb(step, grown, climbing)
    return step.judge("constant", also=also, measured=measured, climb=climb, costs=costs, following=following)


def _climb(step: Step, grown: Grown, climbing: Sequence[str]) -> str:
    """Sentences on what a climb beyond chance that is no leak yet may mean."""
    if not climbing:
        return ""
    order = sorted(grown, key=lambda way: grown[way].slope)
    least, most = grown[order[0]], grown[order[-1]]
    control = ""
    if len(climbing) == len(grown):  # all of them share the training between two evaluations
        differs = most.slope - least.slope > most.error + least.error
        control = step.say("training" if differs else "all", least=order[0])
    return step.say(
        "climb",
        most=order[-1],
        late="no less" if most.late >= most.slope else "less",
        evaluations=words.quantity(LONG),
        size=words.size(LONG * most.slope),
        control=control,
    )


def _settings(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    facts, plain = _compared(findings, step), findings.at("f", settings=AS_FOUND)
    if plain is None or facts is None:
        return None
    order, why = facts["order"], []
    better = [cell for cell in order if findings.beats(cell, plain)]
    worse = [cell for cell in order if findings.beats(plain, cell)]
    if worse:
        why.append(step.say("slower", sets=words.listed(f"{name(cell)} ({gain(cell, plain):.2f}×)" for cell in worse)))
    comparisons = {name(cell): findings.compare(cell, plain) for cell in order if cell is not plain}
    if INTEL in comparisons and comparisons[INTEL] != "apart":
        change = step.say("no change" if comparisons[INTEL] == "alike" else "unsure change")
        why.append(f"{change} {step.say('Intel', reason=_openmp_reason(findings, 'f', 'KMP_*'))}")
    run = findings.run(plain)
    if run is not None and run.metrics.get("exchange") != "horovod":
        differ = any(name(cell) in HOROVOD for cell in (*better, *worse))
        why.append(step.say("unread but apart" if differ else "unread"))
    best = better[0] if better else plain
    unsure = [setting for setting, comparison in comparisons.items() if comparison == "unsure"]
    return step.judge(
        "better" if better else "unsure" if unsure else "alike",
        Best=words.capital(name(best)),
        gain=gain(best, plain),
        means=step.means[name(best)],
        unsure=words.listed(unsure),
        why=_joined(*why, f"{words.capital(facts['chance'])}.", findings.failures("f")),
    )


def _mpis(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    order = ranked(findings.results("g"))
    lacking = _joined(*(cell.why for cell in findings.results("g") if not cell.rates and cell.status == "failed"))
    if not order:
        return None
    facts = _compared(findings, step)
    if facts is None:
        speed = _speed(findings, order[0])
        return step.judge("single", best=name(order[0]), speed=speed, lacking=lacking or step.say("waiting"))
    ahead = [facts["best"], *map(name, facts["ties"])]
    return step.judge(
        facts["shown"],
        **facts,
        ahead=words.listed(ahead),
        are="is" if len(ahead) == 1 else "are",
        every=words.listed(map(name, order)),
        lacking=lacking,
    )


def _evaluation(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    most = max(cell.point["ranks"] for cell in findings.results("h"))
    ends = {when: findings.at("h", evaluation=when, ranks=most) for when in (BEFORE, AFTER)}
    shares = evaluation_shares(findings)
    if None in ends.values() or not {(when, most) for when in ends} <= shares.keys():
        return None
    was, now = (shares[when, most] for when in ends)
    percents = {"was": words.percent(was), "now": words.percent(now)}
    scaled = {when: gain(cell, findings.at("h", evaluation=when, ranks=1)) for when, cell in ends.items()}
    ranks, why = words.count(most, "rank"), []
    if now < was and findings.beats(ends[AFTER], ends[BEFORE]):
        why.append(step.say("gain", ranks=ranks, gain=gain(ends[AFTER], ends[BEFORE])))
    why.append(step.say("shares", ranks=ranks, **percents))
    if all(scaled.values()):
        why.append(step.say("scaled", ranks=ranks, **scaled))
    comparison = findings.compare(ends[AFTER], ends[BEFORE])
    better = now < was and comparison == "apart"
    verdict = "better" if better else "unsure" if comparison == "unsure" else "alike"
    return step.judge(verdict, **percents, why=_joined(*why, step.say("reason")))


def _stages(findings: StepResults, step: Step, grown: Grown) -> Verdict | None:
    measured = [cell for cell in findings.results("i") if cell.rates]
    if len(measured) < 2 or measured[0].point["gave"]:
        return None
    first, last = measured[0], measured[-1]
    gave = words.listed(
        f"{name(other)} {gain(other, cell):.2f}×{_doubt(findings, other, cell)}" for cell, other in pairwise(measured)
    )
    return step.judge(
        "gain",
        gain=gain(last, first),
        doubt=_doubt(findings, last, first),
        first=_speed(findings, first),
        last=_speed(findings, last),
        Gave=words.capital(gave),
        failures=findings.failures("i"),
        command=_command(findings, last),
    )


_VERDICTS: Mapping[str, Callable[[StepResults, Step, Grown], Verdict | None]] = {
    "a": _profile,
    "b": _openmp,
    "c": _pools,
    "d": _ranks,
    "e": _memory,
    "f": _settings,
    "g": _mpis,
    "h": _evaluation,
    "i": _stages,
}


def _compared(findings: StepResults, step: Step) -> dict[str, Any] | None:
    """The fastest and the slowest cell of a step, and whether they differ; None for fewer than two measured cells."""
    order = ranked(findings.results(step.key))
    if len(order) < 2:
        return None
    return {
        "order": order,
        "best": name(order[0]),
        "worst": name(order[-1]),
        "gain": gain(order[0], order[-1]),
        "speed": _speed(findings, order[0]),
        "shown": findings.compare(order[0], order[-1]),
        "ties": findings.ties(step.key)[1:],
        "chance": f"repeats of one setting differ by {100 * findings.chance.usual:.0f} %",
    }


def _speed(findings: StepResults, cell: CellResult) -> str:
    return f"{words.quantity(cell.median or 0.0)} {findings.setting.unit}"


def _doubt(findings: StepResults, cell: CellResult, other: CellResult) -> str:
    return "" if findings.differ(cell, other) else ", which may be chance"


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _openmp_reason(findings: StepResults, step_key: str, variable: str) -> str:
    """The reason why an OpenMP variable has no effect, with the evidence of a run's threads."""
    telling_run = next((run for _, run in findings.measured(step_key) if openmp_matters(run) is not None), None)
    return openmp_why(telling_run, variable, f"run {telling_run.id}" if telling_run is not None else "")


def _command(findings: StepResults, cell: CellResult) -> str:
    """The command for a run of the workload's usual length, not as short as a trial."""
    sgan = workload(findings.guide.workload)
    params = {param: value for param, value in cell.params.items() if param not in SHORTENED}
    return run_command(sgan, named(sgan.params, params), Placement.parse(cell.placement))


def _threads(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    run = findings.run(findings.at(step_key, cores=1))
    census = threads_of(run) if run is not None else []
    return Answer(float(sum(kind.count for kind in census))) if census else None


def _growth(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    growth = events["memory"].get("predict")
    return Answer(growth.added / 1e6, margin=max(growth.uncertainty / 1e6, 1.0)) if growth else None


def _share(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    most = max(cell.point["ranks"] for cell in findings.results(step_key))
    share = evaluation_shares(findings).get((BEFORE, most))
    return Answer(100 * share, margin=5.0) if share is not None else None


ANSWERS: Mapping[str, Callable[[StepResults, str, Events], Answer | None]] = {
    "threads": _threads,
    "growth": _growth,
    "share": _share,
}
