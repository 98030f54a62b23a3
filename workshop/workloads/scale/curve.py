"""Scaling curves: the rate of all workers together, by the number of workers, read from a CSV file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core.errors import BadInput

NEEDED = ("workers", "rate")
OTHERS = ("bytes", "batch", "algorithm")  # columns that describe a point
LARGEST = 1 << 20  # bytes of a file
MOST_WORKERS = 10_000_000
MOST_POINTS = 100


@dataclass(frozen=True)
class ScalingCurve:
    """Measured rates [examples/s of all workers together] by number of workers, in growing order. Where they are known:
    the `bytes` of the gradients and the `batch` of each worker, relative to the first point, and the `algorithm` of the
    all-reduce, by point."""

    workers: tuple[int, ...]
    rates: tuple[float, ...]
    bytes: tuple[float, ...] = ()
    batch: tuple[float, ...] = ()
    algorithm: tuple[str, ...] = ()

    def setting(self, workers: Sequence[int]) -> ScalingCurve:
        """Other numbers of workers with the bytes, batch and algorithm of the last point; without rates."""
        values = {name: getattr(self, name)[-1:] * len(workers) for name in OTHERS}
        return ScalingCurve(tuple(workers), (), **values)


def read(text: str, file: str) -> ScalingCurve:
    """The curve of a CSV file with the columns workers and rate, and any of `OTHERS`. Raises BadInput with the name of
    the file and the line."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        lines = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadInput(f"{file}, line {rows.line_num}: this is no CSV ({error}).") from None
    if not lines:
        raise BadInput(f"{file} is empty; it should have the columns workers and rate.")
    headings = [heading.lower() for heading in lines[0][1]]
    for needed in NEEDED:
        if headings.count(needed) != 1:
            raise BadInput(
                f"{file}, line {lines[0][0]}: the first line should name the columns workers and rate once each."
            )
    if unknown := [heading for heading in headings if heading not in (*NEEDED, *OTHERS)]:
        raise BadInput(f"{file} has the column {unknown[0]!r:.40}; there are {', '.join((*NEEDED, *OTHERS))}.")
    workers, rates = [], []
    others: dict[str, list[Any]] = {name: [] for name in OTHERS if name in headings}
    for number, cells in lines[1:]:
        if len(cells) != len(headings):
            raise BadInput(f"{file}, line {number}: there are {len(cells)} values for {len(headings)} columns.")
        row = dict(zip(headings, cells, strict=True))
        workers.append(int(_number(row["workers"], f"{file}, line {number}: workers", integer=True)))
        rates.append(_number(row["rate"], f"{file}, line {number}: rate"))
        for name, values in others.items():
            where = f"{file}, line {number}: {name}"
            values.append(row[name].lower() if name == "algorithm" else _number(row[name], where))
        if len(workers) > 1 and workers[-1] <= workers[-2]:
            raise BadInput(f"{file}, line {number}: {workers[-1]} workers come after {workers[-2]}; they should grow.")
    if len(workers) > MOST_POINTS:
        raise BadInput(f"{file} has {len(workers)} points; a curve has at most {MOST_POINTS}.")
    if len(workers) < 2:
        raise BadInput(f"{file} has {len(workers)} points; a fit takes at least two.")
    for name in ("bytes", "batch"):
        if name in others:
            others[name] = [value / others[name][0] for value in others[name]]
    return ScalingCurve(tuple(workers), tuple(rates), **{name: tuple(values) for name, values in others.items()})


def _number(text: str, where: str, integer: bool = False) -> float:
    """A finite number above 0. Raises BadInput."""
    try:
        value = int(text) if integer else float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < (MOST_WORKERS if integer else math.inf)):
        kind = f"whole number from 1 to {MOST_WORKERS:,}" if integer else "finite number above 0"
        raise BadInput(f"{where} is {text!r:.40}; it should be a {kind}.")
    return value
