"""Findings on attack and defence: the cost of an attack, the benefit of a defence, updates far from the others, and
epsilon and its cost."""

from __future__ import annotations

import math

from workshop.core import words
from workshop.report.analysis.findings import Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.params import BOOST, MOST, ROBUST
from workshop.workloads.federated.report.facts import FederationFacts, numbered

FAR = 3.0  # an update is far from the others from this many times the median distance on
WEAK = 10.0  # an epsilon from which on privacy is negligible: conclusions may be 22,000 times as certain
STRONG = 1.0  # an epsilon up to which conclusions are at most 2.7 times as certain

_RULES = {"median": "the median of each value", "trimmed": "the trimmed mean", "mean": "clipping and noise"}


def attacked(run: FederationFacts) -> Finding | None:
    """Return the finding of an attack on the shared model; None without one, and for runs that haven't ended."""
    attackers = run.metrics.get("attackers")
    if not isinstance(attackers, list) or not attackers or run.reached is None:
        return None
    return Finding(_cost(run, run.reached), _poison(run, attackers), _against(run, len(attackers), run.reached))


def _cost(run: FederationFacts, reached: float) -> str:
    plain, undefended, rule = run.plain, run.undefended, _defence(run)
    if plain is None:
        return f"Under attack the shared model came to {percent(reached)} on held-out images."
    suffered = reached if undefended is None else undefended
    if not run.ahead(plain, suffered):
        sentence = (
            "The attack made no difference that so many images can tell: "
            f"{percent(suffered)}, without it {percent(plain)}"
        )
        return (
            f"{sentence}; {rule} cost {points(suffered - reached)}." if run.ahead(suffered, reached) else f"{sentence}."
        )
    sentence = f"The attack cost {points(plain - suffered)}: {percent(suffered)} on held-out images in place of"
    sentence += f" {percent(plain)}"
    if undefended is None:
        return f"{sentence}."
    if run.ahead(undefended, reached):
        return f"{sentence}; {rule} made it worse by {points(undefended - reached)}."
    if not run.ahead(reached, undefended):
        return f"{sentence}; {rule} did not help."
    won = f"won {points(reached - undefended)} back"
    if not run.ahead(plain, reached):
        won += f"; the {points(abs(plain - reached))} that are left may be chance"
    return f"{sentence}; {rule} {won}."


def _poison(run: FederationFacts, attackers: list[int]) -> str:
    """Say what the attackers did, and whether it is visible."""
    sent = f"{numbered(attackers)} sent {BOOST:g} times {'their' if len(attackers) > 1 else 'its'} update."
    sentences = [sent, _visibility(run, attackers)]
    if skipped := run.metrics.get("skipped"):
        sentences.append(
            f"In {words.count(len(skipped), 'round')} too few updates were left, and the model stayed the same."
        )
    return " ".join(filter(None, sentences))


def _visibility(run: FederationFacts, attackers: list[int]) -> str:
    """Say whether the poisoned updates are those that lie far from the others."""
    distances = run.each("distance")
    poisoned = [distances[institution] for institution in attackers if institution in distances]
    if not poisoned:
        return "Nobody could see how far updates were from each other."
    if min(poisoned) >= FAR:
        return (
            f"It shows: such an update lies {min(poisoned):.2g} times as far from the others as the one in the middle."
        )
    honest = max((value for institution, value in distances.items() if institution not in attackers), default=0.0)
    return (
        f"It doesn't show: a poisoned update lies only {min(poisoned):.2g} times as far from the others as the one in "
        f"the middle, an honest one up to {honest:.2g} times."
    )


def _against(run: FederationFacts, many: int, reached: float) -> str:
    params, institutions = run.params, len(run.metrics.get("institutions") or [])
    robust = "--rule median" + " --privacy none" * (params.get("privacy") == "institutions")  # they exclude each other
    if params.get("rule") == "mean":
        return f"Take of each value the median of the institutions' ({robust}), and compare."
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
    """Return the finding of privacy or of a robust rule without an attack; None where there is neither."""
    if run.metrics.get("attackers") or run.reached is None:
        return None
    if run.params.get("privacy") == "institutions":
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
    cut = ""
    if number(clipped):
        cut = f"{words.percent(clipped)} of the updates were longer than the clip of {params.get('clip'):g}."
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
        f"Whoever has the shared model may be {words.quantity(math.exp(min(epsilon, 700)))} times as sure whether "
        f"an institution took part as without it, and no more, but for a chance of delta{how}"
    )
    many = min(4 * len(run.institutions), MOST)
    following = (
        f"Add noise (--noise {2 * (params.get('noise') or 1):g}), and have {many} institutions (--institutions {many})."
    )
    if epsilon <= STRONG:
        following = "Take away some of the noise, and look from where on it costs nothing."
    return Finding(
        f"Epsilon is {words.quantity(epsilon)} for a delta of {words.quantity(params['delta'])}{cost}.",
        f"{why} {cut}".strip(),
        following,
    )


def _price(run: FederationFacts) -> str:
    """Say what a defence costs without an attack, as the end of a sentence."""
    plain, reached = run.plain, run.reached
    if plain is None or reached is None:
        return ""
    if run.tied(plain, reached):
        return f", at no cost that so many images can tell ({percent(reached)})"
    difference = f"{points(abs(plain - reached))} {'less' if plain > reached else 'more'}"
    return f", at {difference}: {percent(reached)} in place of {percent(plain)}"


def _defence(run: FederationFacts) -> str:
    return _RULES.get(str(run.metrics.get("rule")), "the rule")
