"""Findings on attack and defence (the cost of an attack, the benefit of a defence, updates far from the others, epsilon
and its cost), and on transmission (compression, masks, silent institutions)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.params import MOST, ROBUST
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
    attack, boost = run.params.get("attack"), run.params.get("boost")
    times = f"{boost:g} times {'their' if len(attackers) > 1 else 'its'} update" if number(boost) else "another one"
    did = {
        "flip": "learned from wrong labels",
        "scale": f"sent {times}",
        "nan": "sent updates that are no numbers, which were dropped by name: a single one would make the shared model "
        "useless for everybody",
    }.get(str(attack), "was poisoned")
    sentences = [f"{numbered(attackers)} {did}.", _visibility(run, attackers) if attack != "nan" else ""]
    if skipped := run.metrics.get("skipped"):
        sentences.append(
            f"In {words.count(len(skipped), 'round')} too few updates were left, and the model stayed the same."
        )
    return " ".join(filter(None, sentences))


def _visibility(run: FederationFacts, attackers: list[int]) -> str:
    """Say whether the poisoned updates are those that lie far from the others."""
    distances = run.each("distance")
    poisoned = [distances[institution] for institution in attackers if institution in distances]
    visible = [institution for institution in attackers if institution in far(run)]
    if not poisoned:
        return "Nobody could see how far updates were from each other."
    if len(visible) == len(attackers):
        return (
            f"It shows: such an update lies {min(poisoned):.2g} times as far from the others as the one in the middle."
        )
    if visible:
        return (
            f"It shows of {words.numbered('institution', visible)} only: the others' updates lie less than {FAR:g} "
            "times as far from everybody's as the one in the middle."
        )
    honest = max((value for institution, value in distances.items() if institution not in attackers), default=0.0)
    return (
        f"It doesn't show: a poisoned update lies {max(poisoned):.2g} times as far from the others as the one in the "
        f"middle, an honest one up to {honest:.2g} times."
    )


def _against(run: FederationFacts, many: int, reached: float) -> str:
    params, institutions = run.params, len(run.metrics.get("institutions") or [])
    if params.get("attack") == "nan":
        return "Send something that is a number, and wrong (--attack scale): does anybody notice?"
    robust = "--rule median" + " --privacy none" * (params.get("privacy") == "institutions")  # they exclude each other
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
    """Return the finding of privacy or of a robust rule without an attack; None where there is neither."""
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
    secret, vectors = "an institution had an image", "gradients"
    if params["privacy"] == "institutions":
        secret, vectors = "an institution took part", "updates"
    cut = ""
    if number(clipped):
        cut = f"{words.percent(clipped)} of the {vectors} were longer than the clip of {params.get('clip'):g}."
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
        f"Whoever has the shared model may be {words.short(math.exp(min(epsilon, 700)))} times as sure whether "
        f"{secret} as without it, and no more, but for a chance of delta{how}"
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
    """Say what a defence costs without an attack, as the end of a sentence."""
    plain, reached = run.plain, run.reached
    if plain is None or reached is None:
        return ""
    if run.tied(plain, reached):
        return f", at no cost that so many images can tell ({percent(reached)})"
    difference = f"{points(abs(plain - reached))} {'less' if plain > reached else 'more'}"
    return f", at {difference}: {percent(reached)} in place of {percent(plain)}"


def remark(run: FederationFacts) -> str:
    """Name the institutions whose updates lie far from the others' in a run without an attack; empty without any."""
    outliers = [] if run.metrics.get("attackers") else far(run)
    if not outliers:
        return ""
    farthest = max(run.each("distance")[institution] for institution in outliers)
    return (
        f"{numbered(outliers)} sent updates that lie up to {farthest:.2g} times as far from the others as the one in "
        "the middle: other images, another number of steps, or poison."
    )


def far(run: FederationFacts) -> list[int]:
    """Return the institutions, counted from 1, whose updates lie far from the others' in most rounds."""
    return [institution for institution, distance in run.each("distance").items() if distance >= FAR]


def _defence(run: FederationFacts) -> str:
    return _RULES.get(str(run.metrics.get("rule")), "the rule")


OPENFL = "OpenFL 1.9's own secure aggregation has this fault, too, where institutions are of unequal size."
_CODECS = {"topk": "their largest values", "8bit": "eight bits for each value"}

Sending = Mapping[str, Any]


def sent(metrics: Sending) -> Sending | None:
    """Return the metric `sending`; None without a federation, and before the first update."""
    sending = metrics.get("sending")
    return sending if isinstance(sending, Mapping) and sending.get("rounds") and sending.get("bytes_plain") else None


def broken(run: FederationFacts) -> Finding | None:
    """Return the finding of masks in the shared model, or of updates too large to be masked."""
    sending = sent(run.metrics)
    return (_uncancelled(run, sending) or _too_large(run, sending)) if sending is not None else None


def transmitted(run: FederationFacts) -> Finding | None:
    """Return the finding of masks or compression; None where updates were sent as they are."""
    sending = sent(run.metrics)
    if sending is None:
        return None
    findings = [
        finding for finding in (_hidden(sending), _compressed(run, sending), _silent(sending)) if finding is not None
    ]
    if not findings:
        return None
    return Finding(findings[0].verdict, " ".join(finding.why for finding in findings), findings[0].following)


def saving(sending: Sending) -> str:
    """Compare the bytes of updates with those of plain ones: "50 times fewer", "2 times as many"."""
    share = sending["bytes_updates"] / sending["bytes_plain"]
    if 0.95 < share < 1.05:
        return "as many"
    return f"{1 / share:.2g} times fewer" if share < 1 else f"{share:.2g} times as many"


def _uncancelled(run: FederationFacts, sending: Sending) -> Finding | None:
    rounds, after = sending.get("uncancelled") or 0, sending.get("too_few") or 0
    if not rounds:
        return None
    sizes, reached = [institution["images"] for institution in run.institutions.values()], _reached(run)
    unequal = ""
    if sizes and min(sizes) < max(sizes):
        unequal = f" (they have from {words.thousands(min(sizes))} to {words.thousands(max(sizes))})"
    accuracy = f"; the model came to {reached}" if reached else ""
    too_few = f"; in {after} more no three updates were numbers that can be masked" if after else ""
    return Finding(
        "The masks did not cancel, and the shared model is noise.",
        "Updates were masked first and weighted by images afterwards: a mask that one of a pair adds and the other "
        f"takes away is multiplied by another number at each{unequal}, and the difference stays in the sum. That was "
        f"so in {rounds} of {words.count(sending['rounds'], 'round')}{too_few}{accuracy}. {OPENFL}",
        "Let each institution multiply its update by its images before it is masked (--secure masks), and compare.",
    )


def _too_large(run: FederationFacts, sending: Sending) -> Finding | None:
    rounds = sending.get("too_large") or []
    if not any(rounds):
        return None
    return Finding(
        f"{numbered(_with_any(rounds))} had updates too large to be masked.",
        f"Masks are added to numbers of a fixed point, which hold values up to 16,384; "
        f"{words.count(sum(rounds), 'update')} had larger ones, as training that diverges has, and "
        f"{'were' if sum(rounds) > 1 else 'was'} left out.",
        run.smaller_rate,
    )


def _hidden(sending: Sending) -> Finding | None:
    if sending.get("secure") == "unequal" and not sending.get("uncancelled"):
        return Finding(
            "Masks that are weighted afterwards cancelled, because all weights were the same.",
            "Updates were masked first and weighted by images afterwards, which goes well only where all institutions "
            "have as many images.",
            "Give them unequal numbers of images (--partition unequal): what is left of the model then?",
        )
    if sending.get("secure") != "masks":
        return None
    each, plain = (words.size(sending[name] / max(sending["updates"], 1)) for name in ("bytes_updates", "bytes_plain"))
    seconds, few = sending.get("seconds_encoding"), sending.get("too_few") or 0
    cost = unopened = silence = ""
    if number(seconds) and seconds > 0:
        cost = (
            f"; agreeing on masks and adding them took rank 0 {words.seconds(seconds / sending['rounds'])} in a round"
        )
    if few:
        unopened = (
            f" In {words.count(few, 'round')} fewer than three updates came: the sum would have given somebody away, "
            "and was not opened."
        )
    if not any(sending.get("silent") or []):
        silence = "Let an institution fall silent after masks were agreed on (--silent 1). "
    return Finding(
        "No single update could be read: masks hid each, and cancelled in the sum.",
        f"An update took {each} to send, where a plain one takes {plain}{cost}.{unopened}",
        f"{silence}Weight updates after they were masked (--secure unequal): what does the sum come to then?",
    )


def _compressed(run: FederationFacts, sending: Sending) -> Finding | None:
    codec, top = _CODECS.get(str(sending.get("compression"))), sending.get("compression") == "topk"
    if codec is None:
        return None
    reached, keep = _reached(run), run.params.get("keep")
    if sending["bytes_updates"] > sending["bytes_plain"]:
        verdict, following = (
            "Compression cost bytes in place of saving them.",
            "Take a smaller share of the values (--keep 0.1).",
        )
    else:
        accuracy = reached and f", and came to {reached}"
        verdict = f"Compression sent {saving(sending)} bytes for updates{accuracy}{_compression_price(run)}."
        following = "Compare with plain updates of the same seed (--compression none): how much did the bytes cost?"
        if run.uncompressed is not None and top and isinstance(keep, float):
            following = f"Send a tenth of that (--keep {keep / 10:.2g}): from where on does it cost more than it saves?"
        elif run.uncompressed is not None:
            following = "Send the largest hundredth of the values only (--compression topk --keep 0.01), and compare."
    places = " A value that is sent takes its place along, four bytes more." if top else ""
    return Finding(
        verdict,
        f"Updates were sent as {codec}: {words.size(sending['bytes_updates'])} in all, where plain ones take "
        f"{words.size(sending['bytes_plain'])}.{places}",
        following,
    )


def _silent(sending: Sending) -> Finding | None:
    rounds = sending.get("silent") or []
    missing = sum(rounds)
    if not missing:
        return None
    why = "the others were averaged without them"
    if sending.get("seeds"):
        why = f"the others revealed {words.count(sending['seeds'], 'seed')} of masks that they shared with them"
        why += ", and the sums of the rest came out exactly" if sending.get("secure") == "masks" else ""
    return Finding(
        f"{numbered(_with_any(rounds))} fell silent in some rounds.",
        f"{missing} of {words.count(sending['updates'] + missing, 'update')} did not come, because their institutions "
        f"fell silent first; {why}.",
        "Compare with everybody's updates (--silent 0) of the same seed: what is lost with those that are missing?",
    )


def _with_any(rounds: list[int]) -> list[int]:
    """Return the institutions, counted from 1, whose number of `rounds` isn't 0."""
    return [institution for institution, count in enumerate(rounds, 1) if count]


def _reached(run: FederationFacts) -> str:
    """Say the accuracy on held-out images; nothing before it is known."""
    return "" if run.reached is None else f"{percent(run.reached)} on held-out images"


def _compression_price(run: FederationFacts) -> str:
    """Compare the accuracy with that of the same federation without compression, as the end of a sentence."""
    uncompressed, reached = run.uncompressed, run.reached
    if uncompressed is None or reached is None:
        return ""
    if run.tied(uncompressed, reached):
        return f", as plain updates do ({percent(uncompressed)})"
    direction = "less" if uncompressed > reached else "more"
    return f", {points(abs(uncompressed - reached))} {direction} than with plain updates"
