"""What a grid says: verdict, why and next, from its cells. Pure.

It names a winner where the repeats allow that, and says so where they don't: cells whose ranges overlap may be equally
fast. What an axis does by itself is told, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from workshop.core import words
from workshop.study import results
from workshop.study.effects import effects
from workshop.study.results import CellResult
from workshop.study.scaling.plan import REPEATS

LISTED = 3  # cells that a sentence names
MOST_BEST = 9  # cells that it advises to repeat


def verdict(cells: Sequence[CellResult], unit: str, finished: bool, command: str = "") -> dict[str, str]:
    """Verdict, why and next. `command` runs the best cell."""
    order = results.ranked(cells)
    if len(order) < 2:
        return _too_little(cells, order, unit, finished)
    usual = results.noise(cells)
    tied = results.ties(cells, usual)
    best, second = order[0], order[1]
    most, least = ("fastest", "slowest") if unit.endswith("/s") else ("best", "worst")
    why = [_reached(best, unit), _against(best, order[-1], unit, usual, least)]
    if len(tied) == len(order):
        said = f"No difference is sure: all {len(order)} cells are within what repeats differ by."
    elif len(tied) > 1:
        others = words.listed([cell.label for cell in tied[1 : LISTED + 1]] + _rest(len(tied) - 1 - LISTED))
        said = f"{words.capital(best.label)}: {_rate(best, unit)}; but it is not sure that {others} can't do as much."
        why.insert(1, f"{_reached(second, unit)[:-1]}: the ranges overlap.")
    else:
        times = (best.median or 0.0) / (second.median or 1.0)
        said = f"{words.capital(best.label)} is the {most}: {_rate(best, unit)}, {times:.2f}x the next, {second.label}."
    why += mattered(cells, usual) + _cautions(cells, order)
    return {"verdict": said, "why": " ".join(why), "next": _next(tied, order, finished, command)}


def mattered(cells: Sequence[CellResult], usual: float) -> list[str]:
    """A sentence on how much each of several axes makes by itself."""
    there = [cell for cell in cells if cell.median]
    found = effects([cell.point for cell in there], [cell.median or 0.0 for cell in there])
    if len(found) < 2:
        return []
    parts = [
        f"{one.axis} {one.factor:.2f}x" if one.factor > 1 + 2 * usual else f"{one.axis} nothing sure" for one in found
    ]
    return [f"Between the worst and the best value of each, everything else being the same: {words.listed(parts)}."]


def _too_little(cells: Sequence[CellResult], order: Sequence[CellResult], unit: str, finished: bool) -> dict[str, str]:
    failed = [cell for cell in cells if cell.status == "failed"]
    going_on = "Mend that, then start the study again." if finished else "Let the study go on."
    if order:
        said = f"Only one cell was measured: {order[0].label}, {_rate(order[0], unit)}."
        why = " ".join(["A comparison takes two cells.", *_cautions(cells, [])])
        return {"verdict": said, "why": why, "next": "Vary more." if finished and not failed else going_on}
    if cells and len(failed) == len(cells):
        why = f"All {len(cells)} cells failed. {words.capital(failed[0].label)}: {failed[0].why.rstrip('.')}."
        return {"verdict": "Nothing could be measured.", "why": why, "next": going_on}
    why = " ".join(["No run has completed so far.", *_cautions(cells, [])])
    return {"verdict": "Nothing was measured yet.", "why": why, "next": going_on}


def _next(tied: Sequence[CellResult], order: Sequence[CellResult], finished: bool, command: str) -> str:
    if not finished:
        return "Let the study go on."
    if len(tied) == 1:
        return f"Use it: {command}" if command else "Use it."
    cells, repeats = min(len(tied), MOST_BEST), min(max(3 * max(len(cell.rates) for cell in order), 5), REPEATS)
    use = (
        f"Use it: {command} - or, to tell them apart," if command and len(tied) < len(order) else "To tell them apart,"
    )
    return (
        f"{use} run longer, or repeat the best more often: --best {cells} --best-repeats {repeats}, in a study's file "
        f"best: {{cells: {cells}, repeats: {repeats}}}."
    )


def _cautions(cells: Sequence[CellResult], order: Sequence[CellResult]) -> list[str]:
    """What the figures don't tell."""
    said = []
    if order and all(len(cell.rates) == 1 for cell in order):
        said.append(
            "Each was measured once, so chance isn't known; differences below "
            f"{words.percent(results.NOISE)} are taken for it."
        )
    failed = [cell for cell in cells if cell.status == "failed"]
    if failed:
        said.append(f"{words.count(len(failed), 'cell')} failed; {failed[0].label}: {failed[0].why.rstrip('.')}.")
    pruned = sum(cell.status == "pruned" for cell in cells)
    if pruned:
        said.append(f"{words.count(pruned, 'cell')} ended early as hopeless.")
    return said


def _reached(cell: CellResult, unit: str) -> str:
    return f"{words.capital(cell.label)} reached {_rate(cell, unit)}{_between(cell)}."


def _against(best: CellResult, worst: CellResult, unit: str, usual: float, least: str) -> str:
    found = results.ratio(best, worst, usual)
    times = f"{found.value:.2f}x" if found else ""
    return f"The {least}, {worst.label}, reached {_rate(worst, unit)}{_between(worst)}: {times} between them."


def _between(cell: CellResult) -> str:
    if len(cell.rates) < 2:
        return ""
    return f" ({words.rate(min(cell.rates))} to {words.rate(max(cell.rates))} in {len(cell.rates)} runs)"


def _rate(cell: CellResult, unit: str) -> str:
    return f"{words.rate(cell.median or 0.0)} {unit}"


def _rest(number: int) -> list[str]:
    return [f"{number} more"] if number > 0 else []
