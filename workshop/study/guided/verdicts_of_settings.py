"""Verdict, why and next of the steps on memory, settings, MPIs, evaluation and all of it, e to i. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from workshop.core import words
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.command_line import run_command
from workshop.study.guided.cells import AFTER, BEFORE
from workshop.study.guided.evidence import evaluating, share_of_evaluation
from workshop.study.guided.found import Found
from workshop.study.guided.memory import EVALUATIONS
from workshop.study.guided.places import APART, AS_FOUND, CYCLE, INTELS, SETS
from workshop.study.guided.plan import WORKLOAD
from workshop.study.guided.saying import Grown, Verdict, at, chance, failures, name, of_openmp, said, speed, times
from workshop.study.results import CellResult, ranked

LONG = 10_000  # evaluations of a training that takes days
SHORTENED = ("iterations", "evaluate_every", "evaluate_images", "trace")  # params of a trial that real runs don't have


def memory(found: Found, grown: Grown) -> Verdict | None:
    """e"""
    if not grown:
        return None
    told = words.listed(f"{way} {one.added / 1e6:+.1f} ± {one.uncertainty / 1e6:.1f} MB" for way, one in grown.items())
    leaking = [way for way, one in grown.items() if one.grows]
    why = f"Resident memory over {EVALUATIONS} evaluations, after a warm-up: {told}."
    costs = _costs(found)
    if not leaking:
        climbing = [way for way, one in grown.items() if one.climbs]
        also = f", but with {words.listed(climbing)} memory still climbs a little" if climbing else ""
        return said(
            f"Nothing like the article's leak shows today{also}.",
            f"{why}{_climb(grown, climbing)} The bug that its authors met is TensorFlow issue 33009 and Keras issue "
            f"13118.{costs}",
            "Look longer: the thorough setting asks five times as often."
            if climbing and found.setting.quick
            else "Take the one that is the fastest; but watch the line of memory on the page of your own long runs.",
        )
    kept = [way for way in grown if way not in leaking]
    instead = f"Use {words.listed(kept)} instead" if kept else "No way here keeps it constant; restart long runs"
    return said(
        f"{words.listed(leaking)} {'keeps' if len(leaking) == 1 else 'keep'} memory: "
        f"{max(grown[way].added for way in leaking) / 1e6:.1f} MB over {EVALUATIONS} evaluations.",
        why + costs,
        f"{instead}.",
    )


def _climb(grown: Grown, climbing: Sequence[str]) -> str:
    """What a climb beyond chance that is no leak yet may mean, as sentences."""
    if not climbing:
        return ""
    order = sorted(grown, key=lambda way: grown[way].slope)
    least, most = grown[order[0]], grown[order[-1]]
    late = "no less" if most.late >= most.slope else "less"
    control = ""
    if len(climbing) == len(grown):  # what they have in common is the training between two evaluations
        control = (
            f" Training itself takes no more than {order[0]} shows."
            if most.slope - least.slope > most.error + least.error
            else " All of them show it alike, so training itself may be what takes it."
        )
    return (
        f" So few evaluations can't tell a small leak from pools that still fill; with {order[-1]} it was {late} in "
        f"the second half. If that went on, {words.thousands(LONG)} evaluations would add "
        f"{words.size(LONG * most.slope)}.{control}"
    )


def _costs(found: Found) -> str:
    """What an evaluation takes in each way, as a sentence."""
    told = [(name(one), evaluating(run)) for one in found.results("e") if (run := found.run(one)) is not None]
    each = [f"{way} {words.seconds(seconds)}" for way, seconds in told if seconds]
    return f" An evaluation takes: {words.listed(each)}." if each else ""


def settings(found: Found, grown: Grown) -> Verdict | None:
    """f"""
    plain = at(found, "f", settings=AS_FOUND)
    order = ranked(found.results("f"))
    if plain is None or len(order) < 2:
        return None
    best = order[0]
    better = [one for one in order if found.beats(one, plain)]
    worse = [one for one in order if found.beats(plain, one)]
    why = []
    if worse:
        why.append(f"Slower: {words.listed(f'{name(one)} ({times(one, plain):.2f}x)' for one in worse)}.")
    if (intels := at(found, "f", settings=INTELS)) and not found.apart(intels, plain):
        why.append(
            f"KMP_* and I_MPI_* change nothing beyond chance. {of_openmp(found, 'f', 'KMP_*')} I_MPI_* is for Intel "
            "MPI, and these ranks run over Open MPI."
        )
    run = found.run(plain)
    if run is not None and run.metrics.get("exchange") != "horovod":
        differ = any(name(one) in (CYCLE, APART) for one in (*better, *worse))
        so = ", so what differs there is the machine, not the setting" if differ else ""
        why.append(f"HOROVOD_* is read by nobody: these ranks exchange gradients without Horovod{so}.")
    why += [f"{words.capital(chance(found))}.", failures(found, "f")]
    if better:
        head = f"{words.capital(name(best))} is {times(best, plain):.2f}x what there was."
        following = f"Keep it: {SETS[name(best)]}."
    else:
        head = "None of the other sets is better than what there was."
        following = "Leave them alone, and compare the MPIs themselves."
    return said(head, " ".join(filter(None, why)), following)


def mpis(found: Found, grown: Grown) -> Verdict | None:
    """g"""
    order = ranked(found.results("g"))
    lacking = [one for one in found.results("g") if not one.rates and one.status == "failed"]
    lacks = " ".join(one.why for one in lacking)
    if not order:
        return None
    best = order[0]
    if len(order) == 1:
        return said(
            f"Only {name(best)} could be measured: {speed(best, found.setting.unit)}.",
            lacks or "The others have not been run yet.",
            "Put the others beside it and run this step again.",
        )
    worst = order[-1]
    gain = times(best, worst) or 1.0
    ahead = found.ties("g")
    head = (
        f"{words.listed(map(name, ahead))} {'is' if len(ahead) == 1 else 'are'} the fastest: {gain:.2f}x {name(worst)}."
        if found.apart(best, worst)
        else f"{words.listed(map(name, order))} can't be told apart."
    )
    return said(
        head,
        f"The same ranks, the same exchange (mpi4py), only the MPI differs; the fastest is {gain:.2f}x the slowest, "
        f"and {chance(found)}. {lacks}".strip(),
        "On one machine an MPI moves data through memory; over a network they differ more. Try it on several hosts.",
    )


def evaluation(found: Found, grown: Grown) -> Verdict | None:
    """h"""
    most = max(one.point["ranks"] for one in found.results("h"))
    before, after = at(found, "h", evaluation=BEFORE, ranks=most), at(found, "h", evaluation=AFTER, ranks=most)
    shares = share_of_evaluation(found)
    if before is None or after is None or (BEFORE, most) not in shares or (AFTER, most) not in shares:
        return None
    gain = times(after, before) or 1.0
    was, now = shares[BEFORE, most], shares[AFTER, most]
    scaled = {
        when: times(at(found, "h", evaluation=when, ranks=most), at(found, "h", evaluation=when, ranks=1))
        for when in (BEFORE, AFTER)
    }
    why = [
        f"With {words.count(most, 'rank')} evaluation took {words.percent(was)} of the time before and "
        f"{words.percent(now)} after."
    ]
    if scaled[BEFORE] is not None and scaled[AFTER] is not None:
        why.append(
            f"All time counted, {words.count(most, 'rank')} are {scaled[BEFORE]:.2f}x as fast as one before and "
            f"{scaled[AFTER]:.2f}x after."
        )
    why.append(
        "Before, every rank's images counted towards the next evaluation, so more ranks evaluated more often, and all "
        "but rank 0 waited for it; after, it comes every 15 iterations and the ranks share the held-out images."
    )
    if now < was:
        head = f"Evaluation takes {words.percent(now)} of the time instead of {words.percent(was)}."
        if found.beats(after, before):
            why.insert(0, f"That makes {words.count(most, 'rank')} {gain:.2f}x as fast.")
    else:
        head = "The mended evaluation saves nothing here."
    return said(head, " ".join(why), "See what all steps come to together.")


def stages(found: Found, grown: Grown) -> Verdict | None:
    """i"""
    measured = [one for one in found.results("i") if one.rates]
    if len(measured) < 2 or measured[0].point["gave"]:
        return None
    first, last = measured[0], measured[-1]
    gain = times(last, first) or 1.0
    sure = "" if found.apart(last, first) else ", which may be chance"
    gave = []
    for one, other in pairwise(measured):
        factor = times(other, one) or 1.0
        doubt = "" if found.apart(other, one) else ", which may be chance"
        gave.append(f"{name(other)} {factor:.2f}x{doubt}")
    return said(
        f"All together: {gain:.2f}x the naive start{sure}.",
        f"{speed(first, found.setting.unit)} became {speed(last, found.setting.unit)}, evaluation counted in. "
        f"{words.capital(words.listed(gave))}. All stages were measured anew, one after the other in turns. "
        f"{failures(found, 'i')}".strip(),
        f"The article went on to eight nodes. A whole training that way: {_command(last)}",
    )


def _command(one: CellResult) -> str:
    """The command for a run as long as the workload has it, not as short as a trial."""
    known = workload(WORKLOAD)
    params = {name: value for name, value in one.params.items() if name not in SHORTENED}
    return run_command(known, named(known.params, params), Placement.parse(one.placement))
