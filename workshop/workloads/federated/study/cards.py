"""Cards of three ways side by side: curves with their band on each data, what each way came to with every seed, the
differences seed by seed, what others have published, and real federations with the same settings."""

from __future__ import annotations

from workshop.core import words as say
from workshop.report.cards import Card, code, figure, line, table, words
from workshop.study.cards import about, runs_card, runs_cell, verdict
from workshop.workloads.federated.report.panels import NAMES
from workshop.workloads.federated.report.verdict import PUBLISHED
from workshop.workloads.federated.study import figures, sentences
from workshop.workloads.federated.study.figures import WayCurve
from workshop.workloads.federated.study.kind import WaysReport
from workshop.workloads.federated.study.real_federations import OURS, Peer, start_command
from workshop.workloads.federated.study.results import ON, WAYS, WAYS_ON, Seeds
from workshop.workloads.federated.study.verdict import ALONE, summary

TITLES = {"held_out": "On held-out images", "own": "On their own"}
ABOUT = {
    "held_out": "Images that no institution has. All ways begin with the same weights and read as many images.",
    "own": "The mean over institutions, each on images of its own that it doesn't learn from.",
}
BANDS = "Lines are means over the seeds that have ended, bands go from the lowest to the highest of them."
NOW = "Dotted with open marks: seed {seed}, which is learning now (run {run})."
REAL = "Diamonds: a real federation over OpenFL with the same settings."
SPREAD = "Mean ± standard deviation over the seeds; then what each seed came to."
PAIRED = (
    "Seed by seed, since the same seed means the same luck for all ways: mean difference ± its standard error, in "
    "points of a percentage, and in proportion to what the other came to. Chance: how likely two equal ways would come "
    "out as one-sided as this (sign test)."
)
HOW = "Nobody has run the same with OpenFL yet. Its own environment is needed once (workshop federation install); then:"


def cards(report: WaysReport) -> list[Card]:
    return [
        verdict(report),
        *_curves(report),
        *_came_to(report),
        *_differences(report),
        *_published(report),
        *_real(report),
        runs_card(report),
    ]


def _curves(report: WaysReport) -> list[Card]:
    """By round, as far as any seed is."""
    now = report.now
    found = []
    for on in ON:
        real = {f"OpenFL, run {peer.run}": peer.curves[on] for peer in report.peers if peer.curves.get(on)}
        ways = [
            WayCurve(way, NAMES[way], report.found.by_round(way, on), now.curves.get((way, on), {}), now.seed)
            if now is not None
            else WayCurve(way, NAMES[way], report.found.by_round(way, on))
            for way in WAYS
        ]
        legend = [ABOUT[on]] + [BANDS] * (len(report.found) > 1)
        legend += [NOW.format(seed=now.seed, run=now.run)] if now is not None else []
        legend += [REAL] if real else []
        drawn = figure(figures.lines(ways, real, report.rounds, report.measure))
        found.append(Card(f"rounds-{on}", TITLES[on], (about(" ".join(legend)), drawn), half=True))
    return found


def _came_to(report: WaysReport) -> list[Card]:
    """Every way on both data: over the seeds, and with each of them."""
    if not report.found:
        return []
    drawn: list[Card] = []
    for on in ON:
        values = {way: [(one.seed, one.scores[way, on]) for one in report.found] for way in WAYS}
        made = figures.by_seed(sentences.NAMES, values, report.measure)
        drawn.append(Card(f"seeds-{on}", f"{TITLES[on]}, seed by seed", (figure(made),), half=True))
    heads = ["Way", "Held-out images", "Institutions' own images"]
    rows = [[say.capital(NAMES[way]), *(sentences.spread(report.found.spread(way, on)) for on in ON)] for way in WAYS]
    each = ["Seed", "Run", *(f"{say.capital(sentences.NAMES[way])}, {on.replace('_', '-')}" for way, on in WAYS_ON)]
    seeds = [
        [str(one.seed), runs_cell([one.run]), *(sentences.percent(one.scores[key]) for key in WAYS_ON)]
        for one in report.found
    ]
    parts = (about(SPREAD), table(heads, rows), table(each, seeds))
    return [*drawn, Card("came-to", "What each way came to", parts)]


def _differences(report: WaysReport) -> list[Card]:
    if not report.found:
        return []
    rows = [
        [
            f"{say.capital(sentences.NAMES[apart.one])} against {sentences.NAMES[apart.other]}",
            sentences.DATA[apart.on],
            sentences.difference(apart),
            sentences.relative(apart),
            f"{apart.better} of {len(apart.differences)}",
            say.percent(apart.chance),
        ]
        for apart in report.pairs
    ]
    heads = ["What", "On", "Difference", "In proportion", "Seeds that are better", "Chance"]
    return [Card("differences", "How far apart", (about(PAIRED), table(heads, rows)))]


def _published(report: WaysReport) -> list[Card]:
    """How much better data-rich models are than those of one's own: here, and as others have found."""
    heads = ["Better than alone", *(say.capital(sentences.DATA[on]) for on in ON)]
    rows = [
        [f"{say.capital(NAMES[way])}, here", *(sentences.relative(report.found.apart(way, ALONE, on)) for on in ON)]
        for way in WAYS
        if way != ALONE
    ]
    rows.append([f"Data of all, {sentences.PUBLISHED_BY}", *(f"{100 * sentences.PUBLISHED[on]:+.2g} %" for on in ON)])
    said = [line(text) for on in ON if (text := summary(report.found, on))]
    lines = words(*said, line(PUBLISHED, "Published", "about"), line(sentences.APART, tone="about"))
    return [Card("published", "Beside what others have found", (table(heads, rows), lines))]


def _real(report: WaysReport) -> list[Card]:
    """Real federations with the same settings, or how to start one."""
    if report.study.workload != OURS:
        return []
    title = "A real federation, over OpenFL"
    if not report.peers:
        return [Card("openfl", title, (about(HOW), code(start_command(report.params))))]
    heads = [
        "OpenFL",
        "Seed",
        *(say.capital(sentences.DATA[on]) for on in ON),
        "Ours with this seed",
        "Within our seeds",
    ]
    rows = [
        [
            runs_cell([peer.run]),
            str(peer.seed),
            *(sentences.percent(peer.scores[on]) if on in peer.scores else "goes on" for on in ON),
            _ours(report.found, peer),
            _within(report, peer),
        ]
        for peer in report.peers
    ]
    return [Card("openfl", title, (about(REAL), table(heads, rows)))]


def _ours(found: Seeds, peer: Peer) -> str:
    same = next((one for one in found if one.seed == peer.seed), None)
    return sentences.percent(same.scores[OURS, ON[0]]) if same is not None else sentences.NONE


def _within(report: WaysReport, peer: Peer) -> str:
    """Whether it lies between the lowest and the highest of our seeds."""
    ours = report.found.spread(OURS, ON[0])
    if ours is None or len(ours.values) < 2 or ON[0] not in peer.scores:
        return sentences.NONE
    low, high = min(ours.values), max(ours.values)
    inside = low <= peer.scores[ON[0]] <= high
    return f"{'yes' if inside else 'no'}, {sentences.percent(low)} to {sentences.percent(high)}"
