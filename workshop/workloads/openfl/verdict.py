"""What a real federation came to: who was let in, who wasn't and why, who died, and what the model learned.

Everything is computed from what the run told: the `certificates` that were shown, the `fx` commands with their exit
codes, and in how many rounds each institution took part. That something was broken on purpose is only said where
nothing of it can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number
from workshop.workloads.federated.failures import openfl_failure
from workshop.workloads.federated.report import verdict as federated
from workshop.workloads.openfl import command_tables
from workshop.workloads.openfl.command_tables import Told

HEALTHY = (
    "Break it, and see who notices: --fault foreign-certificate, other-name, expired-certificate, dies or restart. Or "
    "compare with the same rounds on our own ranks: workshop federation start --backend session."
)
_INSTITUTION = re.compile(r"institution \d+")  # who runs a command: not one that only claims to be an institution


def measured(facts: Facts) -> Finding | None:
    """What a run over OpenFL came to; None for any other."""
    commands, shown = (command_tables.records(facts.metrics.get(name)) for name in ("fx", "certificates"))
    if not commands or not command_tables.good(shown):
        return None  # not even the aggregator's own was accepted: nothing has begun
    wrong = [*_refused(facts, shown), *_died(facts, commands), *_restarted(facts, commands)]
    time = _time(facts, commands)
    if not wrong:
        healthy, fault = _healthy(facts, shown), facts.run.params.get("fault")
        unseen = [f"Nothing of the fault {fault} is to be seen in what it told."] if openfl_failure(fault) else []
        return Finding(healthy.verdict, " ".join(filter(None, [healthy.why, *unseen, time])), healthy.following)
    main, *others = wrong
    why = [main.why, *(other.verdict for other in others), _reached(facts), time]
    return Finding(main.verdict, " ".join(filter(None, why)), main.following)


def _refused(facts: Facts, shown: Sequence[Told]) -> list[Finding]:
    """A finding for each certificate that wasn't accepted."""
    found = []
    for one in (one for one in shown if one.get("accepted") is False):
        name = str(one.get("name") or "somebody")
        who = words.capital(name)
        subject, issuer = (command_tables.common_name(one.get(name)) for name in ("subject", "issuer"))
        if command_tables.foreign(one, shown):
            reached = f"{who} was refused: its certificate is of another authority."
            trusted = words.listed(command_tables.authorities(shown))
            why = f"{issuer} has signed it; here only {trusted} is trusted, so TLS ends before a word is read."
            following = _mended("foreign-certificate")
        elif command_tables.expired(one, facts.run.queued_at):
            reached = f"{who} was refused: its certificate was valid until {command_tables.until(one)}."
            why = f"{issuer} has signed it, and says itself until when; from then on nobody has to believe it."
            following = _mended("expired-certificate")
        elif subject != name:
            reached = f"Somebody who claimed to be {name} was refused: the certificate is that of {subject}."
            why = (
                "The certificate is valid, so TLS lets it through; but who says that it is somebody else than its "
                "certificate says is given no task."
            )
            following = _mended("other-name")
        else:
            reached = f"{who} was refused: its certificate was not accepted."
            why = f"{words.capital(str(one.get('why') or 'nobody said why').rstrip('.'))}."
            following = "Give it a certificate that the federation's authority has signed and that is still valid."
        found.append(Finding(reached, why, following))
    return found


def _died(facts: Facts, commands: Sequence[Told]) -> list[Finding]:
    """A finding where collaborators were ended by a signal."""
    killed = [
        where
        for one in commands
        if command_tables.starts(one, "collaborator")
        and command_tables.killed(one)
        and _INSTITUTION.fullmatch(where := str(one.get("where") or ""))
    ]
    if not killed:
        return []
    rounds = facts.metrics.get("rounds")
    part = [one.get("took_part") for one in command_tables.records(facts.metrics.get("institutions"))]
    fewest = min((count for count in part if isinstance(count, int)), default=None)
    said = ""
    if isinstance(rounds, int) and fewest is not None and fewest < rounds:
        said = f" It took part in {fewest} of {words.count(rounds, 'round')}."
    return [
        Finding(
            f"{words.capital(words.listed(dict.fromkeys(killed)))} died in the middle of the federation.",
            f"The aggregator can't tell one that is slow from one that is dead; only a limit of time can.{said}",
            _mended("dies"),
        )
    ]


def _restarted(facts: Facts, commands: Sequence[Told]) -> list[Finding]:
    """A finding for an aggregator that was started more than once."""
    starts = [one for one in commands if command_tables.starts(one, "aggregator")]
    if len(starts) < 2:
        return []
    first = starts[0]
    ended = f"{'by' if command_tables.killed(first) else 'with exit code'} {command_tables.code(first)}"
    return [
        Finding(
            f"The aggregator was started {len(starts)} times, and the federation went on.",
            f"It had ended {ended}; collaborators asked until somebody answered again, and the model of the last round "
            "was still there.",
            _mended("restart"),
        )
    ]


def _healthy(facts: Facts, shown: Sequence[Told]) -> Finding:
    """What a federation came to in which nobody was refused and nobody died."""
    institutions = command_tables.records(facts.metrics.get("institutions"))
    good = command_tables.good(shown)
    authorities = command_tables.authorities(shown)
    whose = f"one authority ({authorities[0]})" if len(authorities) == 1 else words.listed(authorities)
    who, came = words.count(len(institutions), "institution"), facts.metrics.get("held_out_accuracy")
    return Finding(
        f"{who} learned one model over mutual TLS: {_accuracy(came)} on held-out images."
        if number(came)
        else f"{who} learn one model over mutual TLS.",
        f"{words.count(len(good), 'certificate')} of {whose} were shown and accepted: the aggregator's by "
        f"collaborators, theirs by the aggregator. {_reached(facts)}",
        HEALTHY,
    )


def _reached(facts: Facts) -> str:
    rounds, own = facts.metrics.get("rounds"), facts.metrics.get("own_accuracy")
    if not isinstance(rounds, int):
        return ""
    return (
        f"After {words.count(rounds, 'round')} the model has {_accuracy(facts.metrics.get('held_out_accuracy'))} on "
        f"held-out images and {_accuracy(own)} on institutions' own."
    )


def _time(facts: Facts, commands: Sequence[Told]) -> str:
    """What a round took, and what all of it."""
    each, run = facts.metrics.get("seconds_per_round"), facts.run
    if not number(each) or not run.started_at or not run.finished_at:
        return ""
    return (
        f"A round took {words.seconds(each)}, all of it with {words.count(len(commands), 'fx command')} "
        f"{words.seconds(max(run.finished_at - run.started_at, 0.0))}."
    )


def _mended(fault: str) -> str:
    """What mends what this fault shows."""
    known = openfl_failure(fault)
    return known.fix if known else ""


def _accuracy(value: Any) -> str:
    return f"{100 * value:.1f} %" if number(value) else "no known accuracy"


def _openfl_or_rounds(facts: Facts) -> Finding | None:
    return measured(facts) or federated.measured(facts)


VERDICT = Verdict(_openfl_or_rounds, first=True)
