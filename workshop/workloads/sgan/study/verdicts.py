"""Verdict, why and next of each step: the facts by which one is chosen, and that its sentences name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from workshop.core import words
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.analysis import openmp
from workshop.report.analysis.threads import KINDS
from workshop.report.command_line import run_command
from workshop.study.guided.guide import Events
from workshop.study.guided.step_results import StepResults, gain, name
from workshop.study.guided.steps import Step, Verdict
from workshop.study.results import CellResult, ranked
from workshop.workloads.sgan.study.cells import AFTER, BEFORE
from workshop.workloads.sgan.study.memory import EVALUATIONS, Growth
from workshop.workloads.sgan.study.results import evaluation_seconds, evaluation_shares, threads_of
from workshop.workloads.sgan.study.settings import AS_FOUND, HOROVOD, INTEL

Grown = Mapping[str, Growth]  # by the way to ask the classifier
LONG = 10_000  # evaluations of a training that takes days
SHORTENED = ("iterations", "evaluate_every", "evaluate_images", "trace")  # params of a trial that real runs don't have


def judge(found: StepResults, of: str, events: Events) -> Verdict | None:
    """What a step has found; None where it hasn't measured enough."""
    return _VERDICTS[of](found, found.guide.step(of), events["memory"])


def _profile(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    cores = found.setting.cores
    first, free = found.at("a", cores=1), found.at("a", cores=cores)
    run = found.run(first)
    if first is None or run is None:
        return None
    why = []
    if census := threads_of(run):
        kinds = words.listed(f"{kind.count} {KINDS.get(kind.kind, kind.kind)}" for kind in census)
        count, busy = (sum(getattr(kind, of) for kind in census) for of in ("count", "busy"))
        why.append(one.say("threads", count=count, kinds=kinds, busy=busy))
    if seconds := run.metrics.get("seconds"):
        parts = words.listed(f"{part} {words.seconds(spent)}" for part, spent in seconds.items())
        why.append(one.say("time", parts=parts))
    if memory := max(run.metrics.get("memory") or [0]):
        why.append(one.say("memory", size=words.size(memory)))
    if free is not None and cores > 1:
        why.append(one.say("gain", cores=cores, gain=gain(free, first), doubt=_doubt(found, free, first)))
    told = " ".join(why) or one.say("nothing")
    return one.judge("several" if cores > 1 else "single", speed=_speed(found, first), cores=cores, why=told)


def _openmp(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    facts = _compared(found, one)
    if facts is None:
        return None
    worked, reason = _openmp_worked(found, "b"), _openmp_reason(found, "b", "OMP_NUM_THREADS")
    if not facts["apart"]:
        return one.judge("alike with OpenMP" if worked else "alike", **facts, reason=reason)
    if worked is False:
        return one.judge("apart without OpenMP", **facts, reason=reason)
    return one.judge("apart", **facts, reason=reason if worked else one.say("unknown"))


def _pools(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    facts = _compared(found, one)
    if facts is None:
        return None
    ties = one.say("ties" if facts["ties"] else "no ties", alike=len(facts["ties"]), others=len(facts["order"]) - 1)
    return one.judge("apart" if facts["apart"] else "alike", **facts | {"ties": ties})


def _ranks(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    facts = _compared(found, one)
    if facts is None:
        return None
    cores, best, worst = found.setting.cores, facts["order"][0], facts["order"][-1]
    alone = found.at("d", ranks=1, threads=cores)
    ties, why = [name(cell) for cell in facts["ties"]], [one.say("best", **facts)]
    if alone is not None and best is not alone:
        told = f"{'all ' if cores > 1 else ''}{words.count(cores, 'core')}"
        why.append(one.say("gain", gain=gain(best, alone), cores=told))
    if ties:
        why.append(one.say("ties", alike=words.listed(ties), chance=facts["chance"]))
    if pruned := [name(cell) for cell in found.results("d") if cell.status == "pruned"]:
        why.append(one.say("pruned", cells=words.listed(pruned), were="was" if len(pruned) == 1 else "were"))
    else:
        crowded = worst.placement["ranks"] * worst.point["threads"] > cores
        why.append(one.say("crowded" if crowded else "slowest", **facts))
    if best.point["ranks"] > 1 and cores > 1:
        why.append(one.say("ranks"))
    counts = {axis: words.count(best.point[axis], axis.removesuffix("s")) for axis in ("ranks", "threads")}
    return one.judge("alike" if ties else "apart", **counts, why=_joined(*why, found.failures("d")))


def _memory(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    if not grown:
        return None
    ways = words.listed(f"{way} {how.added / 1e6:+.1f} ± {how.uncertainty / 1e6:.1f} MB" for way, how in grown.items())
    measured = one.say("measured", evaluations=EVALUATIONS, ways=ways)
    each = [f"{name(cell)} {words.seconds(seconds)}" for cell, seconds in evaluation_seconds(found)]
    costs = one.say("costs", each=words.listed(each)) if each else ""
    leaking = [way for way, how in grown.items() if how.grows]
    if leaking:
        kept = [way for way in grown if way not in leaking]
        return one.judge(
            "leaking",
            ways=words.listed(leaking),
            keep="keeps" if len(leaking) == 1 else "keep",
            added=max(grown[way].added for way in leaking) / 1e6,
            evaluations=EVALUATIONS,
            measured=measured,
            costs=costs,
            following=one.say("others", ways=words.listed(kept)) if kept else one.say("none"),
        )
    climbing = [way for way, how in grown.items() if how.climbs]
    also = one.say("also", ways=words.listed(climbing)) if climbing else ""
    following = one.say("longer" if climbing and found.setting.quick else "fastest")
    climb = _climb(one, grown, climbing)
    return one.judge("constant", also=also, measured=measured, climb=climb, costs=costs, following=following)


def _climb(one: Step, grown: Grown, climbing: Sequence[str]) -> str:
    """What a climb beyond chance that is no leak yet may mean, as sentences."""
    if not climbing:
        return ""
    order = sorted(grown, key=lambda way: grown[way].slope)
    least, most = grown[order[0]], grown[order[-1]]
    control = ""
    if len(climbing) == len(grown):  # what they have in common is the training between two evaluations
        apart = most.slope - least.slope > most.error + least.error
        control = one.say("training" if apart else "all", least=order[0])
    return one.say(
        "climb",
        most=order[-1],
        late="no less" if most.late >= most.slope else "less",
        evaluations=words.thousands(LONG),
        size=words.size(LONG * most.slope),
        control=control,
    )


def _settings(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    facts, plain = _compared(found, one), found.at("f", settings=AS_FOUND)
    if plain is None or facts is None:
        return None
    order, why = facts["order"], []
    better = [cell for cell in order if found.beats(cell, plain)]
    worse = [cell for cell in order if found.beats(plain, cell)]
    if worse:
        why.append(one.say("slower", sets=words.listed(f"{name(cell)} ({gain(cell, plain):.2f}x)" for cell in worse)))
    if (intel := found.at("f", settings=INTEL)) and not found.apart(intel, plain):
        why.append(one.say("Intel", reason=_openmp_reason(found, "f", "KMP_*")))
    run = found.run(plain)
    if run is not None and run.metrics.get("exchange") != "horovod":
        differ = any(name(cell) in HOROVOD for cell in (*better, *worse))
        why.append(one.say("unread but apart" if differ else "unread"))
    best = facts["best"]
    return one.judge(
        "better" if better else "alike",
        Best=words.capital(best),
        gain=gain(order[0], plain),
        means=one.means[best],
        why=_joined(*why, f"{words.capital(facts['chance'])}.", found.failures("f")),
    )


def _mpis(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    order = ranked(found.results("g"))
    lacking = _joined(*(cell.why for cell in found.results("g") if not cell.rates and cell.status == "failed"))
    if not order:
        return None
    facts = _compared(found, one)
    if facts is None:
        speed = _speed(found, order[0])
        return one.judge("single", best=name(order[0]), speed=speed, lacking=lacking or one.say("waiting"))
    ahead = [facts["best"], *map(name, facts["ties"])]
    return one.judge(
        "apart" if facts["apart"] else "alike",
        **facts,
        ahead=words.listed(ahead),
        are="is" if len(ahead) == 1 else "are",
        every=words.listed(map(name, order)),
        lacking=lacking,
    )


def _evaluation(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    most = max(cell.point["ranks"] for cell in found.results("h"))
    ends = {when: found.at("h", evaluation=when, ranks=most) for when in (BEFORE, AFTER)}
    shares = evaluation_shares(found)
    if None in ends.values() or not {(when, most) for when in ends} <= shares.keys():
        return None
    was, now = (shares[when, most] for when in ends)
    percents = {"was": words.percent(was), "now": words.percent(now)}
    scaled = {when: gain(cell, found.at("h", evaluation=when, ranks=1)) for when, cell in ends.items()}
    ranks, why = words.count(most, "rank"), []
    if now < was and found.beats(ends[AFTER], ends[BEFORE]):
        why.append(one.say("gain", ranks=ranks, gain=gain(ends[AFTER], ends[BEFORE])))
    why.append(one.say("shares", ranks=ranks, **percents))
    if all(scaled.values()):
        why.append(one.say("scaled", ranks=ranks, **scaled))
    return one.judge("better" if now < was else "alike", **percents, why=_joined(*why, one.say("reason")))


def _stages(found: StepResults, one: Step, grown: Grown) -> Verdict | None:
    measured = [cell for cell in found.results("i") if cell.rates]
    if len(measured) < 2 or measured[0].point["gave"]:
        return None
    first, last = measured[0], measured[-1]
    gave = words.listed(
        f"{name(other)} {gain(other, cell):.2f}x{_doubt(found, other, cell)}" for cell, other in pairwise(measured)
    )
    return one.judge(
        "gain",
        gain=gain(last, first),
        doubt=_doubt(found, last, first),
        first=_speed(found, first),
        last=_speed(found, last),
        Gave=words.capital(gave),
        failures=found.failures("i"),
        command=_command(found, last),
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


def _compared(found: StepResults, one: Step) -> dict[str, Any] | None:
    """The fastest and the slowest cell of a step, and whether they differ; None where fewer than two were measured."""
    order = ranked(found.results(one.key))
    if len(order) < 2:
        return None
    return {
        "order": order,
        "best": name(order[0]),
        "worst": name(order[-1]),
        "gain": gain(order[0], order[-1]),
        "speed": _speed(found, order[0]),
        "apart": found.apart(order[0], order[-1]),
        "ties": found.ties(one.key)[1:],
        "chance": f"repeats of one setting differ by {100 * found.chance.usual:.0f} %",
    }


def _speed(found: StepResults, one: CellResult) -> str:
    return f"{words.rate(one.median or 0.0)} {found.setting.unit}"


def _doubt(found: StepResults, one: CellResult, other: CellResult) -> str:
    return "" if found.apart(one, other) else ", which may be chance"


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _openmp_worked(found: StepResults, of: str) -> bool | None:
    """Whether a thread of OpenMP worked in any of a step's runs; None where no run tells."""
    told = {openmp.matters(run) for _, run in found.measured(of)}
    return True if True in told else False if False in told else None


def _openmp_reason(found: StepResults, of: str, variable: str) -> str:
    """Why a variable of OpenMP changes nothing, with what a run's threads show."""
    told = next((run for _, run in found.measured(of) if openmp.matters(run) is not None), None)
    return openmp.why(told, variable, f"run {told.id}" if told is not None else "")


def _command(found: StepResults, one: CellResult) -> str:
    """The command for a run as long as the workload has it, not as short as a trial."""
    known = workload(found.guide.workload)
    params = {param: value for param, value in one.params.items() if param not in SHORTENED}
    return run_command(known, named(known.params, params), Placement.parse(one.placement))
