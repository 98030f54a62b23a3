"""Cards of placements: the machine with its ranks, and ranks as they are predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import accelerators, topology, words
from workshop.core.placement import Placement
from workshop.core.words import ranges
from workshop.mpi.implementations import implementation
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports import openmpi_bindings
from workshop.report.analysis.threads import oversubscription
from workshop.report.cards import Card, Part, Tone, about, code, figure, line, paragraph, table
from workshop.report.figures import theme
from workshop.report.figures.machine import WIDTH, machine_picture, sharing_words

WAITING = (
    "Most threads of a process belong to Python, MPI and ipyparallel, and only wait. The threads per rank that the "
    "placement asks for do the computing."
)


def machine_card(
    title: str, machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None, threads: int, resting: str = ""
) -> list[Card]:
    """A card with a picture and with the ranks that share cores, given so many threads for each rank, and a card with a
    table of ranks; none where there is nothing to draw. `resting` says why sharing alarms nobody now."""
    if not machine and not rank_map:
        return []
    begin = "Oversubscribed when all compute" if resting else "Oversubscribed"
    tone: Tone = "about" if resting else "alarm"
    sharing = sharing_words(oversubscription(rank_map, machine, threads))
    lines = [line(resting, tone="about")] if resting else []
    lines += [line(f"{begin}: {sentence}", tone=tone) for sentence in sharing]
    picture = figure(machine_picture(machine, rank_map, threads), WIDTH)
    reports = (rank_map or {}).get("ranks") or []
    rows = [_rank(report, machine) for report in reports]
    headings = ["Rank", "Host", "May run on", "Threads in all", "Process"]
    if any("gpus" in report for report in reports):
        headings.append("May use")
        rows = [[*row, accelerators.describe(report)] for row, report in zip(rows, reports, strict=True)]
    ranks = (table(headings, rows), about(WAITING))
    cards = [Card("machine", title, (*([paragraph(*lines)] if lines else []), picture), tone="machine")]
    return [*cards, Card("ranks", "Rank by rank", ranks, tone="machine")] if rows else cards


def _rank(report: Mapping[str, Any], machine: Mapping[str, Any] | None) -> list[str | Mapping[str, str]]:
    threads = report.get("threads") or []
    units_seen = sorted({unit for thread in threads for unit in thread.get("units_seen") or []})
    host_machine = topology.machines(machine).get(report["host"]) or {}
    everywhere = len(report["units"]) == len(host_machine.get("units") or [])
    where = f"{words.numbered('hardware thread', report['units'])} in {words.numbered('core', report['cores'])}"
    if everywhere and len(report["units"]) > 1:
        where = "any hardware thread (unbound)"
    places = f", seen on {words.numbered('hardware thread', units_seen)}" if units_seen else ""
    count = words.count(len(threads), "thread")
    return [rank_cell(report["rank"]), report["host"], where, count + places, str(report["pid"])]


def rank_cell(rank: int) -> Mapping[str, str]:
    """A rank in a table, with its colour."""
    return {"text": f"rank {rank}", "colour": theme.rank_colour(rank)}


MOST_RANKS = 64  # ranks in a table
HEADINGS = ("Rank", "Host", "Package", "Cores", "Units", "B: may run here")


def placement_cards(
    placement: Placement,
    machine: str,
    prediction: Prediction,
    commands: Mapping[str, str],
    *,
    unknown: Sequence[str] = (),
    rest: str = "--json has all of them",
    widest: int | None = None,
) -> list[Card]:
    """The placement on the machine of that name, then the `commands` below their titles. `unknown` are words that were
    left out of it. `rest` says where all ranks are, and masks are left out above `widest` characters."""
    lines = [line(f"{placement.describe()}, predicted for {machine}")]
    lines += [line(f"Not understood, and left out: {word}", tone="note") for word in unknown]
    if prediction.refused is not None:
        mpi = implementation(placement.mpi).title
        lines.append(line(f"{mpi} refuses this placement: {prediction.refused}", tone="alarm"))
        lines += [line("That is in the MPI's own words.", tone="about")] if prediction.own_words else []
    lines += [line(prediction.advice, "What to change:")] if prediction.advice else []
    lines += [line(prediction.note, tone="about")] if prediction.note else []
    lines += [line(prediction.warning, tone="alarm")] if prediction.warning else []
    contents = [paragraph(*lines), *rank_table(prediction.rank_map, prediction.machine, rest, widest)]
    shown_commands = [Card(title, title, (code(text.rstrip("\n")),)) for title, text in commands.items()]
    return [Card("placement", "", tuple(contents)), *shown_commands]


def rank_table(
    rank_map: Mapping[str, Any] | None, machine: Mapping[str, Any] | None, rest: str, widest: int | None = None
) -> list[Part]:
    """Rank by rank, with Open MPI 4's picture of the binding."""
    reports = (rank_map or {}).get("ranks") or []
    if not reports:
        return []
    machine = machine or topology.machine()
    pictures = [openmpi_bindings.mask(report, machine) for report in reports[:MOST_RANKS]]
    fit = widest is None or max(map(len, pictures)) <= widest
    rows = [
        (
            str(report["rank"]),
            report["host"],
            *(ranges(report[name]) for name in ("packages", "cores", "units")),
            picture,
        )
        for report, picture in zip(reports[:MOST_RANKS], pictures, strict=True)
    ]
    more = (
        [paragraph(line(f"and {len(reports) - MOST_RANKS} more ranks ({rest})"))] if len(reports) > MOST_RANKS else []
    )
    columns = len(HEADINGS) if fit else -1
    return [table(HEADINGS[:columns], [row[:columns] for row in rows]), *more]
