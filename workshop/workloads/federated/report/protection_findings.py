"""What an attack on a federation cost and what defended it; who lies far from the others; what noise promises, and what
that cost."""

from __future__ import annotations

import math

from workshop.core import words
from workshop.report.analysis.findings import Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.params import MOST, ROBUST
from workshop.workloads.federated.report.facts import FederationFacts, numbered

FAR = 3.0  # times the distance in the middle from which an update is called far from the others
WEAK = 10.0  # an epsilon from which nothing to speak of is promised: conclusions may be 22,000 times as sure
STRONG = 1.0  # one up to which a conclusion may be 2.7 times as sure at most

_RULES = {"median": "the median of each value", "trimmed": "the trimmed mean", "mean": "clipping and noise"}


def attacked(run: FederationFacts) -> Finding | None:
    """What poisoned institutions did to the shared model; None for runs without an attack, or that haven't ended."""
    whose = run.metrics.get("attackers")
    if not isinstance(whose, list) or not whose or run.reached is None:
        return None
    return Finding(_cost(run, run.reached), _poison(run, whose), _against(run, len(whose), run.reached))


def _cost(run: FederationFacts, reached: float) -> str:
    plain, undefended, rule = run.plain, run.undefended, _defence(run)
    if plain is None:
        return f"Under attack the shared model came to {percent(reached)} on held-out images."
    suffered = reached if undefended is None else undefended
    if not run.ahead(plain, suffered):
        said = (
            "The attack made no difference that so many images can tell: "
            f"{percent(suffered)}, without it {percent(plain)}"
        )
        return f"{said}; {rule} cost {points(suffered - reached)}." if run.ahead(suffered, reached) else f"{said}."
    said = f"The attack cost {points(plain - suffered)}: {percent(suffered)} on held-out images in place of"
    said += f" {percent(plain)}"
    if undefended is None:
        return f"{said}."
    if run.ahead(undefended, reached):
        return f"{said}; {rule} made it worse by {points(undefended - reached)}."
    if not run.ahead(reached, undefended):
        return f"{said}; {rule} did not help."
    won = f"won {points(reached - undefended)} back" if run.ahead(plain, reached) else "won all of that back"
    return f"{said}; {rule} {won}."


def _poison(run: FederationFacts, whose: list[int]) -> str:
    """Who did what, and whether it shows."""
    attack, boost = run.params.get("attack"), run.params.get("boost")
    times = f"{boost:g} times {'their' if len(whose) > 1 else 'its'} update" if number(boost) else "another one"
    did = {
        "flip": "learned from wrong labels",
        "scale": f"sent {times}",
        "nan": "sent updates that are no numbers, which were dropped by name: a single one would make the shared model "
        "useless for everybody",
    }.get(str(attack), "was poisoned")
    said = [f"{numbered(whose)} {did}.", _seen(run, whose) if attack != "nan" else ""]
    if skipped := run.metrics.get("skipped"):
        said.append(
            f"In {words.count(len(skipped), 'round')} too few updates were left, and the model stayed the same."
        )
    return " ".join(filter(None, said))


def _seen(run: FederationFacts, whose: list[int]) -> str:
    """Whether the poisoned are those whose updates lie far from the others'."""
    distances = run.each("distance")
    poisoned = [distances[one] for one in whose if one in distances]
    found = [one for one in whose if one in far(run)]
    if not poisoned:
        return "Nobody could see how far updates were from each other."
    if len(found) == len(whose):
        return (
            f"It shows: such an update lies {min(poisoned):.2g} times as far from the others as the one in the middle."
        )
    if found:
        return (
            f"It shows of {words.numbered('institution', found)} only: the others' updates lie less than {FAR:g} times "
            "as far from everybody's as the one in the middle."
        )
    honest = max((value for one, value in distances.items() if one not in whose), default=0.0)
    return (
        f"It doesn't show: a poisoned update lies {max(poisoned):.2g} times as far from the others as the one in the "
        f"middle, an honest one up to {honest:.2g} times."
    )


def _against(run: FederationFacts, many: int, reached: float) -> str:
    params, institutions = run.params, len(run.metrics.get("institutions") or [])
    if params.get("attack") == "nan":
        return "Send something that is a number, and wrong (--attack scale): does anybody notice?"
    robust = "--rule median" + " --privacy none" * (params.get("privacy") == "institutions")  # both can't be
    if params.get("secure") not in (None, "off"):
        return f"Look at updates (--secure off), so that a rule can compare them ({robust})."
    if params.get("rule") == "mean":
        return f"Take of each value the median of the institutions' ({robust}), and compare."
    if run.undefended is not None and run.ahead(run.undefended, reached):
        return "Take the defence away (--rule mean --privacy none), or poison more of them: when does it pay?"
    if run.plain is None or not run.ahead(run.plain, reached):
        return f"Poison more of them (--attackers {many + 1}): from how many on does the rule give way?"
    if 2 * many >= institutions:
        return "No rule helps against half of the institutions: take fewer attackers, and compare."
    if params.get("rule") == "median" and institutions > 2 * many + 1:
        return (
            "The median leaves out most of what honest institutions say, too: leave out "
            f"{words.count(2 * many, 'value')} only (--rule trimmed --trim {many}), and compare."
        )
    return "Deal images alike (--partition iid): is it the attack, or that honest updates differ as much?"


def protected(run: FederationFacts) -> Finding | None:
    """What privacy promises, or a robust rule costs, where nobody attacks; None where there is neither."""
    if run.metrics.get("attackers") or run.reached is None:
        return None
    if run.params.get("privacy") in ("institutions", "images"):
        return _private(run)
    if run.metrics.get("rule") not in ROBUST:
        return None
    return Finding(
        f"{words.capital(_defence(run))} replaced the mean{_price(run)}.",
        "Institutions count alike, however many images they have, and what only one of them knows is left out.",
        "Poison an institution, and look what the rule is good for (--attack scale).",
    )


def _private(run: FederationFacts) -> Finding:
    params, epsilon, clipped, cost = run.params, run.metrics.get("epsilon"), run.metrics.get("clipped"), _price(run)
    whom, what = "an institution had an image", "gradients"
    if params["privacy"] == "institutions":
        whom, what = "an institution took part", "updates"
    cut = ""
    if number(clipped):
        cut = f"{words.percent(clipped)} of the {what} were longer than the clip of {params.get('clip'):g}."
    if not number(epsilon):
        verdict, why = (
            "Without noise no privacy is promised",
            "Clipping alone bounds what one can do, and hides nobody.",
        )
        if params.get("noise"):
            verdict = "Epsilon is beyond all bounds"
            why = "The noise is so small that the sum over the rounds has no bound that could be told."
        return Finding(f"{verdict}{cost}.", f"{why} {cut}".strip(), "Add noise (--noise 1).")
    how = ": next to nothing is promised." if epsilon >= WEAK else ": that is strict." if epsilon <= STRONG else "."
    why = (
        f"Whoever has the shared model may be {words.short(math.exp(min(epsilon, 700)))} times as sure whether {whom} "
        f"as without it, and no more, but for a chance of delta{how}"
    )
    each = list(run.each("epsilon").values())
    smallest = ""
    if len(each) > 1 and max(each) >= 1.1 * min(each):
        smallest = (
            f"That is the largest of an institution, the smallest is {min(each):.3g}: each of few images is read more "
            "often."
        )
    return Finding(
        f"Epsilon is {epsilon:.3g} for a delta of {params.get('delta'):g}{cost}.",
        " ".join(filter(None, [why, smallest, cut])),
        _more_private(run, epsilon),
    )


def _more_private(run: FederationFacts, epsilon: float) -> str:
    if epsilon <= STRONG or not number(run.params.get("noise")):
        return "Take away some of the noise, and look from where on it costs nothing."
    noise = f"--noise {2 * run.params['noise']:g}"
    if run.params["privacy"] == "institutions":
        many = min(4 * len(run.institutions), MOST)
        return f"Add noise ({noise}), and have more institutions share it (--institutions {many}); compare."
    return f"Add noise ({noise}), or take fewer rounds, and compare: what does each cost?"


def _price(run: FederationFacts) -> str:
    """What a defence costs where nobody attacks, behind what it is."""
    plain, reached = run.plain, run.reached
    if plain is None or reached is None:
        return ""
    if run.alike(plain, reached):
        return f", at no cost that so many images can tell ({percent(reached)})"
    apart = f"{points(abs(plain - reached))} {'less' if plain > reached else 'more'}"
    return f", at {apart}: {percent(reached)} in place of {percent(plain)}"


def remark(run: FederationFacts) -> str:
    """Who lies far from the others in a run that doesn't tell of an attack; empty where nobody does."""
    outliers = [] if run.metrics.get("attackers") else far(run)
    if not outliers:
        return ""
    farthest = max(run.each("distance")[one] for one in outliers)
    return (
        f"{numbered(outliers)} sent updates that lie up to {farthest:.2g} times as far from the others as the one in "
        "the middle: other images, another number of steps, or poison."
    )


def far(run: FederationFacts) -> list[int]:
    """Institutions, counted from 1, whose updates lie far from the others' in most rounds."""
    return [one for one, distance in run.each("distance").items() if distance >= FAR]


def _defence(run: FederationFacts) -> str:
    return _RULES.get(str(run.metrics.get("rule")), "the rule")
