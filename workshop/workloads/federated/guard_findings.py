"""What an attack on a federation cost and what defended it; who lies far from the others; what noise promises, and what
that cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import held_out, margin, number, percent, points

FAR = 3.0  # times the distance in the middle from which an update is called far from the others
WEAK = 10.0  # an epsilon from which nothing to speak of is promised: conclusions may be 22,000 times as sure
MOST = 256  # institutions that there can be
STRONG = 1.0  # one up to which a conclusion may be 2.7 times as sure at most

_RULES = {"median": "the median of each value", "trimmed": "the trimmed mean", "mean": "clipping and noise"}


def attacked(facts: Facts) -> Finding | None:
    """What poisoned institutions did to the shared model; None for runs without an attack, or that haven't ended."""
    whose, attack = facts.metrics.get("attackers"), facts.run.params.get("attack")
    reached = held_out(facts, "federated")
    if not isinstance(whose, list) or not whose or reached is None:
        return None
    return Finding(_cost(facts, reached), " ".join(_poison(facts, whose, str(attack))), _against(facts, whose, reached))


def _cost(facts: Facts, reached: float) -> str:
    plain, undefended = held_out(facts, "plain"), held_out(facts, "undefended")
    if plain is None:
        return f"Under attack the shared model came to {percent(reached)} on held-out images."
    suffered = reached if undefended is None else undefended
    cost, rule = plain - suffered, _defence(facts)
    if cost <= margin(facts, plain, suffered):
        told = "made no difference that so many images can tell"
        said = f"The attack {told}: {percent(suffered)}, without it {percent(plain)}"
        if suffered - reached <= margin(facts, suffered, reached):
            return f"{said}."
        return f"{said}; {rule} cost {points(suffered - reached)}."
    said = f"The attack cost {points(cost)}: {percent(suffered)} on held-out images in place of {percent(plain)}"
    if undefended is None:
        return f"{said}."
    won = reached - undefended
    if won < -margin(facts, reached, undefended):
        return f"{said}; {rule} made it worse by {points(-won)}."
    if won <= margin(facts, reached, undefended):
        return f"{said}; {rule} did not help."
    if plain - reached <= margin(facts, plain, reached):
        return f"{said}; {rule} won all of that back."
    return f"{said}; {rule} won {points(won)} back."


def _poison(facts: Facts, whose: list[int], attack: str) -> list[str]:
    """Who did what, and whether it shows."""
    names, several = words.capital(words.numbered("institution", whose)), len(whose) > 1
    boost = facts.run.params.get("boost")
    did = {
        "flip": "learned from wrong labels",
        "scale": f"sent {boost:g} times {'their' if several else 'its'} update"
        if number(boost)
        else "sent another one",
        "nan": "sent updates that are no numbers, which were dropped by name: a single one would make the shared model "
        "useless for everybody",
    }.get(attack, "was poisoned")
    said = [f"{names} {did}."]
    if attack != "nan":
        said.append(_seen(facts, whose))
    if skipped := facts.metrics.get("skipped"):
        said.append(
            f"In {words.count(len(skipped), 'round')} too few updates were left, and the model stayed the same."
        )
    return list(filter(None, said))


def _seen(facts: Facts, whose: list[int]) -> str:
    """Whether the poisoned are those whose updates lie far from the others'."""
    distances, outliers = _distances(facts), far(facts)
    poisoned = [distances[one] for one in whose if one in distances]
    if not poisoned:
        return "Nobody could see how far updates were from each other."
    found = [one for one in whose if one in outliers]
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


def _against(facts: Facts, whose: list[int], reached: float) -> str:
    params = facts.run.params
    many, institutions = len(whose), len(facts.metrics.get("institutions") or [])
    if params.get("attack") == "nan":
        return "Send something that is a number, and wrong (--attack scale): does anybody notice?"
    robust = "--rule median" + " --privacy none" * (params.get("privacy") == "institutions")  # both can't be
    if params.get("secure") not in (None, "off"):
        return f"Look at updates (--secure off), so that a rule can compare them ({robust})."
    if params.get("rule") == "mean":
        return f"Take of each value the median of the institutions' ({robust}), and compare."
    plain, undefended = held_out(facts, "plain"), held_out(facts, "undefended")
    if undefended is not None and undefended - reached > margin(facts, undefended, reached):
        return "Take the defence away (--rule mean --privacy none), or poison more of them: when does it pay?"
    behind = plain is not None and plain - reached > margin(facts, plain, reached)
    if behind and 2 * many >= institutions:
        return "No rule helps against half of the institutions: take fewer attackers, and compare."
    if behind and params.get("rule") == "median" and institutions > 2 * many + 1:
        return (
            "The median leaves out most of what honest institutions say, too: leave out "
            f"{words.count(2 * many, 'value')} only (--rule trimmed --trim {many}), and compare."
        )
    if behind:
        return "Deal images alike (--partition iid): is it the attack, or that honest updates differ as much?"
    return f"Poison more of them (--attackers {many + 1}): from how many on does the rule give way?"


def protected(facts: Facts) -> Finding | None:
    """What privacy promises, or a robust rule costs, where nobody attacks; None where there is neither."""
    if facts.metrics.get("attackers") or held_out(facts, "federated") is None:
        return None
    if facts.run.params.get("privacy") in ("institutions", "images"):
        return _private(facts)
    return _robust(facts) if facts.metrics.get("rule") in ("median", "trimmed") else None


def _private(facts: Facts) -> Finding:
    params, epsilon = facts.run.params, facts.metrics.get("epsilon")
    whom = "an institution took part" if params["privacy"] == "institutions" else "an institution had an image"
    cost = _price(facts)
    clipped = facts.metrics.get("clipped")
    what = "updates" if params["privacy"] == "institutions" else "gradients"
    cut = (
        f"{words.percent(clipped)} of the {what} were longer than the clip of {params.get('clip'):g}."
        if number(clipped)
        else ""
    )
    if not number(epsilon) and params.get("noise"):
        why = "The noise is so small that the sum over the rounds has no bound that could be told."
        return Finding(f"Epsilon is beyond all bounds{cost}.", f"{why} {cut}".strip(), "Add noise (--noise 1).")
    if not number(epsilon):
        why = "Clipping alone bounds what one can do, and hides nobody."
        return Finding(f"Without noise no privacy is promised{cost}.", f"{why} {cut}".strip(), "Add noise (--noise 1).")
    verdict = f"Epsilon is {epsilon:.3g} for a delta of {params.get('delta'):g}{cost}."
    sure = math.exp(min(epsilon, 700))
    why = (
        f"Whoever has the shared model may be {words.short(sure)} times as sure whether {whom} as without it, and no "
        "more, but for a chance of delta"
    )
    why += ": next to nothing is promised." if epsilon >= WEAK else ": that is strict." if epsilon <= STRONG else "."
    return Finding(verdict, " ".join(filter(None, [why, *_spread(facts), cut])), _more_private(facts, epsilon))


def _spread(facts: Facts) -> list[str]:
    """Institutions of few images promise them less."""
    each = [one["epsilon"] for one in _institutions(facts).values() if number(one.get("epsilon"))]
    if len(each) < 2 or max(each) < 1.1 * min(each):
        return []
    least = f"{min(each):.3g}"
    return [f"That is the largest of an institution, the smallest is {least}: each of few images is read more often."]


def _more_private(facts: Facts, epsilon: float) -> str:
    params = facts.run.params
    if epsilon > STRONG and number(params.get("noise")):
        noise = f"--noise {2 * params['noise']:g}"
        if params["privacy"] == "institutions":
            many = min(4 * len(_institutions(facts)), MOST)
            return f"Add noise ({noise}), and have more institutions share it (--institutions {many}); compare."
        return f"Add noise ({noise}), or take fewer rounds, and compare: what does each cost?"
    return "Take away some of the noise, and look from where on it costs nothing."


def _robust(facts: Facts) -> Finding:
    return Finding(
        f"{words.capital(_defence(facts))} replaced the mean{_price(facts)}.",
        "Institutions count alike, however many images they have, and what only one of them knows is left out.",
        "Poison an institution, and look what the rule is good for (--attack scale).",
    )


def _price(facts: Facts) -> str:
    """What a defence costs where nobody attacks, behind what it is."""
    plain, reached = held_out(facts, "plain"), held_out(facts, "federated")
    if plain is None or reached is None:
        return ""
    if abs(plain - reached) <= margin(facts, plain, reached):
        return f", at no cost that so many images can tell ({percent(reached)})"
    apart = f"{points(abs(plain - reached))} {'less' if plain > reached else 'more'}"
    return f", at {apart}: {percent(reached)} in place of {percent(plain)}"


def remark(facts: Facts) -> str:
    """Who lies far from the others in a run that doesn't tell of an attack; empty where nobody does."""
    outliers = [] if facts.metrics.get("attackers") else far(facts)
    if not outliers:
        return ""
    distances = _distances(facts)
    return (
        f"{words.capital(words.numbered('institution', outliers))} sent updates that lie up to "
        f"{max(distances[one] for one in outliers):.2g} times as far from the others as the one in the middle: other "
        "images, another number of steps, or poison."
    )


def far(facts: Facts) -> list[int]:
    """Institutions, counted from 1, whose updates lie far from the others' in most rounds."""
    return [one for one, distance in _distances(facts).items() if distance >= FAR]


def _distances(facts: Facts) -> dict[int, float]:
    return {one: told["distance"] for one, told in _institutions(facts).items() if number(told.get("distance"))}


def _institutions(facts: Facts) -> dict[int, Mapping[str, Any]]:
    told = facts.metrics.get("institutions")
    return (
        {one: about for one, about in enumerate(told, 1) if isinstance(about, Mapping)}
        if isinstance(told, list)
        else {}
    )


def _defence(facts: Facts) -> str:
    return _RULES.get(str(facts.metrics.get("rule")), "the rule")
