"""The verdict on a benchmark, with its rate, the most that its ranks can gain, and a published gain; and its printed
lines, beside the panels of any training run."""

from __future__ import annotations

from dataclasses import replace

from workshop.core import words
from workshop.extension import OUTPUT, Panel
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number
from workshop.report.cards import Card, code, line
from workshop.report.cards import words as sentences
from workshop.report.snapshot import Snapshot
from workshop.report.training import panels as training_panels
from workshop.report.training import verdict as training
from workshop.report.training.time_use import is_independent
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.workloads.resnet.rounds import CONFIDENCE

GAIN = next(published for published in PUBLISHED if published.what == "ResNet-50")
CITED = GAIN.sentence


def outcome(facts: Facts) -> Finding | None:
    """The rate of the rounds with its deviation; None before the first round has ended."""
    rounds = facts.metrics.get("rounds") or {}
    if not number(rounds.get("total")):
        return None
    total, per_rank = (f"{rounds[name]:.1f} ± {rounds[f'{name}_deviation']:.1f}" for name in ("total", "per_rank"))
    for_each_rank = f", which is {per_rank} for each rank" if facts.ranks > 1 else ""
    why = [
        f"{facts.metrics.get('model')} trained on {total} images/s{for_each_rank} "
        f"(mean ± {CONFIDENCE} standard deviations of the rounds).",
        _most(facts),
        CITED,
    ]
    return Finding(
        f"{total} images/s on {words.count(facts.ranks, 'rank')}.", " ".join(filter(None, why)), _following(facts)
    )


def _most(facts: Facts) -> str:
    """The highest speed-up over one rank that the exchange allows: the share of compute and input in the ranks' time,
    times the ranks. "" for one rank, and for ranks that exchange nothing."""
    phases = facts.metrics.get("phases") or {}
    seconds = {name: sum(values) for name, values in phases.items()}
    total = sum(seconds.values())
    if facts.ranks < 2 or is_independent(facts) or not total:
        return ""
    share = (seconds["compute"] + seconds["input"]) / total
    return (
        f"Exchange and waiting take {words.percent(1 - share)} of a step, so that {facts.ranks} ranks are at most "
        f"{facts.ranks * share:.2f} times as fast as one (efficiency {words.percent(share)})."
    )


def _following(facts: Facts) -> str:
    if facts.ranks == 1:
        return f"Run it on two ranks (--ranks 2): how close to the published {GAIN.speed_up:.2f} is their speed-up?"
    if is_independent(facts):
        return "Compare with an exchange (--exchange auto): which share of the rate does it cost?"
    return (
        "Run it on one rank (--ranks 1) and divide the rates: that is the speed-up to compare with the published one."
    )


VERDICT = replace(training.VERDICT, outcome=outcome, first=True)


def printed(snapshot: Snapshot) -> list[Card]:
    """The lines of the rounds, and the published rates."""
    if OUTPUT not in snapshot.artifacts:
        return []
    text = snapshot.read(OUTPUT).decode()
    return [Card("printed", "Rounds", (code(text), sentences(line(CITED, tone="about"))))]


PANELS = (
    Panel("printed", printed, lambda snapshot: snapshot.version(OUTPUT), comparison=printed),
    *training_panels.PANELS,
)
