"""The verdict of a real federation: refused certificates, killed processes, and the accuracy of the model.

It is computed from the run's metrics: the `certificates`, the `fx` commands with their exit codes, and the number of
rounds in which each institution took part. It mentions a fault that was set on purpose only where the metrics don't
show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent
from workshop.training.verdict import observe
from workshop.workloads.federated.failures import openfl_failure
from workshop.workloads.federated.report import verdict as federated
from workshop.workloads.openfl import command_tables
from workshop.workloads.openfl.command_tables import Record
from workshop.workloads.openfl.faults import MEANINGS

HEALTHY = (
    "Break it, and see who notices: --fault foreign-certificate, other-name, expired-certificate, dies or restart. Or "
    "compare with the same rounds on our own ranks: workshop federation start --backend session."
)
CERTIFY = "Give it a certificate that the federation's authority has signed and that is still valid."
_INSTITUTION = re.compile(r"institution \d+")  # the party of a command; "institution 3 as institution1" is a guest


def measured(facts: Facts) -> Finding | None:
    """Return the finding of a run over OpenFL; where no certificate was accepted, that of its rounds."""
    commands, certificates = (command_tables.records(facts.metrics.get(name)) for name in ("fx", "certificates"))
    accepted = command_tables.accepted_of(certificates)
    if not commands or not accepted:
        return federated.measured(facts)
    faults = [
        *_refused(facts, certificates),
        *_died(facts, [command for command in commands if command_tables.starts(command, "collaborator")]),
        *_restarted([command for command in commands if command_tables.starts(command, "aggregator")]),
    ]
    if faults:
        main, *others = faults
        why = [main.why, *(other.verdict for other in others), _reached(facts), _time(facts, commands)]
        return Finding(main.verdict, " ".join(filter(None, why)), main.following)
    score, fault = facts.metrics.get(f"held_out_{_measure(facts)}"), facts.run.params.get("fault")
    who = words.count(len(command_tables.records(facts.metrics.get("institutions"))), "institution")
    measure = "Dice " * (_measure(facts) == "dice")
    learned = f"{who} learned one model over mutual TLS: {measure}{_accuracy(score)} on held-out images."
    authorities = command_tables.authorities(certificates)
    signers = f"one authority ({authorities[0]})" if len(authorities) == 1 else words.listed(authorities)
    why = [
        f"{words.count(len(accepted), 'certificate')} of {signers} were shown and accepted: the aggregator's by "
        "collaborators, theirs by the aggregator.",
        _reached(facts),
        f"Nothing of the fault {fault} is to be seen in what it told." if openfl_failure(fault) else "",
        _time(facts, commands),
    ]
    return Finding(
        learned if number(score) else f"{who} learn one model over mutual TLS.", " ".join(filter(None, why)), HEALTHY
    )


def _finding(fault: str, **values: object) -> Finding:
    """Return the finding of a fault with its fix."""
    (verdict, why), failure = MEANINGS[fault], openfl_failure(fault)
    return Finding(verdict.format(**values), why.format(**values), failure.fix if failure else CERTIFY)


def _refused(facts: Facts, certificates: Sequence[Record]) -> Iterator[Finding]:
    """Yield a finding for each certificate that wasn't accepted."""
    trusted = command_tables.authorities(certificates)
    for certificate in certificates:
        if certificate.get("accepted") is not False:
            continue
        name = str(certificate.get("name") or "somebody")
        subject, issuer = (command_tables.common_name(certificate.get(part)) for part in ("subject", "issuer"))
        kinds = (
            ("foreign-certificate", bool(trusted) and issuer not in trusted),
            ("expired-certificate", command_tables.expired(certificate, facts.run.queued_at)),
            ("other-name", subject != name),
            ("", True),
        )
        yield _finding(
            next(fault for fault, applies in kinds if applies),
            name=words.capital(name),
            claimed=name,
            subject=subject,
            issuer=issuer,
            trusted=words.listed(trusted),
            until=command_tables.until(certificate),
            reason=words.capital(str(certificate.get("why") or "nobody said why").rstrip(".")),
        )


def _died(facts: Facts, starts: Sequence[Record]) -> Iterator[Finding]:
    """Yield a finding where institutions were ended by a signal."""
    where = [str(start.get("where") or "") for start in starts if command_tables.killed(start)]
    if killed := [name for name in dict.fromkeys(where) if _INSTITUTION.fullmatch(name)]:
        rounds = facts.metrics.get("rounds")
        institutions = command_tables.records(facts.metrics.get("institutions"))
        counts = [institution.get("took_part") for institution in institutions]
        fewest, part = min((count for count in counts if isinstance(count, int)), default=None), ""
        if isinstance(rounds, int) and fewest is not None and fewest < rounds:
            part = f" It took part in {fewest} of {words.count(rounds, 'round')}."
        yield _finding("dies", killed=words.capital(words.listed(killed)), part=part)


def _restarted(starts: Sequence[Record]) -> Iterator[Finding]:
    """Yield a finding for an aggregator that was started more than once."""
    if len(starts) > 1:
        how = "by" if command_tables.killed(starts[0]) else "with exit code"
        yield _finding("restart", starts=len(starts), ended=f"{how} {command_tables.code(starts[0])}")


def _reached(facts: Facts) -> str:
    rounds = facts.metrics.get("rounds")
    if not isinstance(rounds, int):
        return ""
    held_out, own_images = (_accuracy(facts.metrics.get(f"{on}_{_measure(facts)}")) for on in ("held_out", "own"))
    after = f"After {words.count(rounds, 'round')} the model has {held_out}"
    return f"{after} on held-out images and {own_images} on institutions' own."


def _time(facts: Facts, commands: Sequence[Record]) -> str:
    """Say how long a round and the whole run took."""
    seconds, run = facts.metrics.get("seconds_per_round"), facts.run
    if not number(seconds) or not run.started_at or not run.finished_at:
        return ""
    return (
        f"A round took {words.seconds(seconds)}, all of it with {words.count(len(commands), 'fx command')} "
        f"{words.seconds(max(run.finished_at - run.started_at, 0.0))}."
    )


def _measure(facts: Facts) -> str:
    return str(facts.metrics.get("measure") or "accuracy").lower()


def _accuracy(value: Any) -> str:
    return percent(value) if number(value) else "no known accuracy"


VERDICT = Verdict(measured, first=True, observe=observe)
