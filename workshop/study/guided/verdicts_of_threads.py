"""Verdict, why and next of the steps on threads and ranks, a to d. Pure."""

from __future__ import annotations

from workshop.core import words
from workshop.report.analysis.threads import KINDS
from workshop.study.guided.evidence import threads_of
from workshop.study.guided.found import Found
from workshop.study.guided.saying import (
    Grown,
    Verdict,
    at,
    chance,
    failures,
    name,
    of_openmp,
    openmp_worked,
    said,
    speed,
    times,
)
from workshop.study.results import ranked


def start(found: Found, grown: Grown) -> Verdict | None:
    """a"""
    cores = found.setting.cores
    first, free = at(found, "a", cores=1), at(found, "a", cores=cores)
    run = found.run(first)
    if first is None or run is None:
        return None
    census = threads_of(run)
    bound = "one core"
    why = []
    if census:
        there = words.listed(f"{one.count} {KINDS.get(one.kind, one.kind)}" for one in census)
        busy = sum(one.busy for one in census)
        why.append(
            f"{sum(one.count for one in census)} threads live in it ({there}); {busy} of them worked, all on {bound}."
        )
    if seconds := run.metrics.get("seconds"):
        parts = words.listed(f"{name} {words.seconds(spent)}" for name, spent in seconds.items())
        why.append(f"Its time went to: {parts}.")
    if memory := max(run.metrics.get("memory") or [0]):
        why.append(f"It took {words.size(memory)} of memory.")
    gained = times(free, first)
    if gained is not None and cores > 1:
        doubt = "" if found.apart(free, first) else ", which may be chance"
        why.append(f"With all {cores} cores the same rank is {gained:.2f}x as fast{doubt}.")
    crowd = f"{cores} threads to compute with" if cores > 1 else "its threads"
    following = "Give the rank every core, as all further steps do; then find" if cores > 1 else "Find"
    return said(
        f"The naive start does {speed(first, found.setting.unit)}, {crowd} on {bound}.",
        " ".join(why) or "The run told nothing more.",
        f"{following} out how many threads it should have.",
    )


def openmp(found: Found, grown: Grown) -> Verdict | None:
    """b"""
    order = ranked(found.results("b"))
    if len(order) < 2:
        return None
    best, worst = order[0], order[-1]
    gain = times(best, worst) or 1.0
    measured = f"The fastest, {name(best)}, is {gain:.2f}x the slowest, {name(worst)}; {chance(found)}."
    reason, worked = of_openmp(found, "b", "OMP_NUM_THREADS"), openmp_worked(found, "b")
    if not found.apart(best, worst):
        return said(
            "No effect of OMP_NUM_THREADS shows here." if worked else "OMP_NUM_THREADS has no effect here.",
            f"{measured} The article's TensorFlow was Intel's build, whose kernels ran on OpenMP. {reason}",
            "Set the pools that do the work: intra_op and inter_op, in the next step.",
        )
    if worked is not False:
        return said(
            f"{name(best)} is {gain:.2f}x as fast as {name(worst)}.",
            f"{measured} {reason if worked else 'The runs do not tell whether OpenMP threads worked in them.'}",
            "See on the runs' pages which kind of threads worked; then set TensorFlow's own pools.",
        )
    return said(
        f"{name(best)} seems to be {gain:.2f}x as fast as {name(worst)}, but nothing in a rank reads this variable.",
        f"{measured} {reason} Something else was at work on this machine meanwhile, or it was the one in twenty times "
        "in which chance alone makes such a difference.",
        "Don't turn a knob for that. Set the pools that do the work: intra_op and inter_op, in the next step.",
    )


def pools(found: Found, grown: Grown) -> Verdict | None:
    """c"""
    order = ranked(found.results("c"))
    if len(order) < 2:
        return None
    best, worst = order[0], order[-1]
    alike = found.ties("c")
    gain = times(best, worst) or 1.0
    crowded = (
        f"{len(alike) - 1} of the {len(order) - 1} others can't be told apart from it"
        if len(alike) > 1
        else "no other is near"
    )
    if not found.apart(best, worst):
        return said(
            "The sizes of the two pools make no difference here.",
            f"The fastest pair is {gain:.2f}x the slowest; {chance(found)}.",
            "A larger load may need them: --set size=56. Go on with as many threads as there are cores.",
        )
    return said(
        f"The fastest pair is {name(best)}: {gain:.2f}x the slowest.",
        f"It does {speed(best, found.setting.unit)}; {crowded}. intra_op threads share one operation out, inter_op "
        "threads run operations that don't need each other: the two nets of a GAN have some of those.",
        "Compare one rank with many threads to several ranks with few.",
    )


def ranks_threads(found: Found, grown: Grown) -> Verdict | None:
    """d"""
    order = ranked(found.results("d"))
    alone = at(found, "d", ranks=1, threads=found.setting.cores)
    if len(order) < 2:
        return None
    best = order[0]
    gain = times(best, alone) if alone else None
    many = [one for one in found.results("d") if one.placement["ranks"] * one.point["threads"] > found.setting.cores]
    worst = order[-1]
    why = [f"{name(best)} (ranks x threads) does {speed(best, found.setting.unit)}."]
    if gain is not None and best is not alone:
        cores = words.count(found.setting.cores, "core")
        why.append(f"That is {gain:.2f}x one rank with {'all ' if found.setting.cores > 1 else ''}{cores}.")
    alike = [name(one) for one in found.ties("d")[1:]]
    if alike:
        why.append(f"{words.listed(alike)} can't be told apart from it: {chance(found)}.")
    hopeless = [name(one) for one in found.results("d") if one.status == "pruned"]
    if hopeless:
        why.append(f"{words.listed(hopeless)} could not win and {'was' if len(hopeless) == 1 else 'were'} ended early.")
    else:
        crowded = ", with more threads than cores: they take turns" if worst in many else ""
        why.append(f"{name(worst)} is the slowest{crowded}.")
    if best.point["ranks"] > 1 and found.setting.cores > 1:
        why.append("A rank's own small operations don't fill several threads, but several ranks fill several cores.")
    why.append(failures(found, "d"))
    wins = "came out first, but others may be as fast" if alike else "wins"
    return said(
        f"{words.count(best.point['ranks'], 'rank')} x {words.count(best.point['threads'], 'thread')} {wins}.",
        " ".join(filter(None, why)),
        "Click a cell for its rank map. The settings of the next steps stand on the fastest one.",
    )
