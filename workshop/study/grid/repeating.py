"""Measuring the best cells again, until it is likelier that they are the best than that they were lucky. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workshop.store.records import Trial
from workshop.study.results import CellResult, cell_key, ranked
from workshop.study.trials import Cell, interleave


def best_again(
    trials: Sequence[Trial], cells: Sequence[CellResult], best: Mapping[str, int] | None, repeats: int
) -> list[Trial]:
    """Trials that have each of the `best["cells"]` best cells run `best["repeats"]` times in all, interleaved; none
    where they were.

    A cell that falls behind makes room for the next one, until twice as many have been repeated: on a noisy machine
    that could go on for ever. Failed trials count, so that a cell that fails now and then doesn't, either.
    """
    if not best:
        return []
    tried = Counter(cell_key(trial.label, trial.point) for trial in trials)
    begun = {key for key, times in tried.items() if times > repeats}
    lacking: list[CellResult] = []
    for cell in ranked(cells)[: best["cells"]]:
        key = cell_key(cell.label, cell.point)
        if tried[key] >= best["repeats"]:
            continue
        if key in begun or len(begun) < 2 * best["cells"]:
            begun.add(key)
            lacking.append(cell)
    wanted: list[Trial] = []
    first = max(trial.number for trial in trials) + 1 if trials else 1
    for already in sorted({tried[cell_key(cell.label, cell.point)] for cell in lacking}):
        alike = [cell for cell in lacking if tried[cell_key(cell.label, cell.point)] == already]
        rounds = best["repeats"] - already
        found = interleave([as_cell(cell) for cell in alike], rounds, repeat=already + 1)
        wanted += [replace(trial, number=first + len(wanted) + at) for at, trial in enumerate(found)]
    return wanted


def as_cell(result: CellResult) -> Cell:
    return Cell(result.label, result.params, result.placement, result.point)
