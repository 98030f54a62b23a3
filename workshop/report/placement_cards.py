"""A placement as cards, for commands and notebooks: where its ranks would run, or why they would not, and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workshop import registry
from workshop.core import topology
from workshop.core.placement import Placement
from workshop.core.words import ranges
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports import masks
from workshop.report.cards import Card, Part, code, line, table, words

MOST = 64  # ranks in a table
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
        mpi = registry.mpi(placement.mpi).title
        lines.append(line(f"{mpi} refuses this placement: {prediction.refused}", tone="alarm"))
        lines += [line("That is in the MPI's own words.", tone="about")] if prediction.own_words else []
    lines += [line(prediction.advice, "What to change:")] if prediction.advice else []
    lines += [line(prediction.note, tone="about")] if prediction.note else []
    contents = [words(*lines), *_ranks(prediction, rest, widest)]
    shown_commands = [Card(title, title, (code(text.rstrip("\n")),)) for title, text in commands.items()]
    return [Card("placement", "", tuple(contents)), *shown_commands]


def _ranks(prediction: Prediction, rest: str, widest: int | None) -> list[Part]:
    """Rank by rank, with Open MPI 4's picture of the binding."""
    reports = (prediction.rank_map or {}).get("ranks") or []
    if not reports:
        return []
    machine = prediction.machine or topology.machine()
    pictures = [masks.mask(report, machine) for report in reports[:MOST]]
    fit = widest is None or max(map(len, pictures)) <= widest
    rows = [
        (
            str(report["rank"]),
            report["host"],
            *(ranges(report[name]) for name in ("packages", "cores", "units")),
            *([picture] if fit else []),
        )
        for report, picture in zip(reports[:MOST], pictures, strict=True)
    ]
    more = [words(line(f"and {len(reports) - MOST} more ranks ({rest})"))] if len(reports) > MOST else []
    return [table(HEADINGS if fit else HEADINGS[:-1], rows), *more]
