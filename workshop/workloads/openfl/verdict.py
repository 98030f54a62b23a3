"""The verdict of a real federation: a refused certificate, a killed institution, or the accuracy of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent
from workshop.workloads.federated.failures import openfl_fix
from workshop.workloads.federated.report import verdict as federated
from workshop.workloads.openfl.workspace import PATIENCE

HEALTHY = (
    "Break it, and see who notices: --fault foreign-certificate or dies. Or compare with the same rounds on our own "
    "ranks: workshop run federated."
)
_INSTITUTION = re.compile(r"institution \d+")  # the party of a command; "a stranger" is a guest


def measured(facts: Facts) -> Finding | None:
    """Return the finding of a run over OpenFL; where no certificate was accepted, that of its rounds."""
    accepted = [certificate for certificate in facts.metrics.get("certificates") or [] if certificate["accepted"]]
    if not accepted:
        return federated.measured(facts)
    authority = accepted[0]["issuer"]
    if faults := [*_refused(facts, authority), *_died(facts)]:
        return Finding(faults[0].verdict, f"{faults[0].why}{_reached(facts)}", faults[0].following)
    return Finding(
        f"{words.count(len(facts.metrics['institutions']), 'institution')} learned one model over mutual TLS.",
        f"{words.count(len(accepted), 'certificate')} of one authority ({authority}) were shown and accepted: the "
        f"aggregator's by collaborators, theirs by the aggregator.{_reached(facts)}",
        HEALTHY,
    )


def _refused(facts: Facts, authority: str) -> Iterator[Finding]:
    """Yield a finding for a certificate that wasn't accepted."""
    for certificate in facts.metrics["certificates"]:
        if certificate["accepted"] is False:
            yield Finding(
                f"{words.capital(certificate['name'])} was refused: its certificate is of another authority.",
                f"{certificate['issuer']} has signed it; here only {authority} is trusted, so TLS ends before a word "
                "is read. The others went on. The stranger would have asked for ever: the run ended it.",
                openfl_fix("foreign-certificate"),
            )


def _died(facts: Facts) -> Iterator[Finding]:
    """Yield a finding where an institution was ended by a signal."""
    for command in facts.metrics["fx"]:
        if (command["code"] or 0) < 0 and _INSTITUTION.fullmatch(command["where"]):
            rounds = facts.metrics.get("rounds") or 0
            fewest = min(institution.get("took_part", rounds) for institution in facts.metrics["institutions"])
            part = f" It took part in {fewest} of {words.count(rounds, 'round')}." if fewest < rounds else ""
            yield Finding(
                f"{words.capital(command['where'])} died in the middle of the federation.",
                "The aggregator can't tell one that is slow from one that is dead; only a limit of time can. The plan "
                f"has one, and so OpenFL waits for it {PATIENCE} s in every round.{part}",
                openfl_fix("dies"),
            )


def _reached(facts: Facts) -> str:
    """Say what the model has come to; "" before the end."""
    measure = str(facts.metrics.get("measure") or "accuracy")
    held_out, own_images = (facts.metrics.get(f"{on}_{measure.lower()}") for on in ("held_out", "own"))
    if not number(held_out) or not number(own_images):
        return ""
    return (
        f" After {words.count(facts.metrics['rounds'], 'round')} the model has {measure} {percent(held_out)} on "
        f"held-out images and {percent(own_images)} on institutions' own."
    )
