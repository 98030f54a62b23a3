"""Scaling curves: the rate of all workers together, by the number of workers, read from a CSV file."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

from workshop.core.errors import BadInput

NEEDED = ("workers", "rate")
OTHERS = ("bytes", "batch", "algorithm")  # columns that describe a curve and are not fitted
LARGEST = 1 << 20  # bytes of a file
MOST_WORKERS = 10_000_000
MOST_POINTS = 100


@dataclass(frozen=True)
class ScalingCurve:
    """Measured rates [examples/s of all workers together] by number of workers, in growing order. `unused`: columns of
    the file that the fit doesn't take into account."""

    workers: tuple[int, ...]
    rates: tuple[float, ...]
    unused: tuple[str, ...] = ()


def read(text: str, name: str) -> ScalingCurve:
    """The curve of a CSV file with the columns workers and rate. Raises BadInput with the file's name and line."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        lines = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadInput(f"{name}, line {rows.line_num}: this is no CSV ({error}).") from None
    if not lines:
        raise BadInput(f"{name} is empty; it should have the columns workers and rate.")
    headings = [heading.lower() for heading in lines[0][1]]
    for needed in NEEDED:
        if headings.count(needed) != 1:
            raise BadInput(
                f"{name}, line {lines[0][0]}: the first line should name the columns workers and rate once each."
            )
    if unknown := [heading for heading in headings if heading not in (*NEEDED, *OTHERS)]:
        raise BadInput(f"{name} has the column {unknown[0]!r:.40}; there are {', '.join((*NEEDED, *OTHERS))}.")
    workers, rates = [], []
    for number, cells in lines[1:]:
        if len(cells) != len(headings):
            raise BadInput(f"{name}, line {number}: there are {len(cells)} values for {len(headings)} columns.")
        row = dict(zip(headings, cells, strict=True))
        workers.append(int(_number(row["workers"], f"{name}, line {number}: workers", integer=True)))
        rates.append(_number(row["rate"], f"{name}, line {number}: rate"))
        if len(workers) > 1 and workers[-1] <= workers[-2]:
            raise BadInput(f"{name}, line {number}: {workers[-1]} workers come after {workers[-2]}; they should grow.")
    if len(workers) > MOST_POINTS:
        raise BadInput(f"{name} has {len(workers)} points; a curve has at most {MOST_POINTS}.")
    if len(workers) < 2:
        raise BadInput(f"{name} has {len(workers)} points; a fit takes at least two.")
    return ScalingCurve(tuple(workers), tuple(rates), tuple(name for name in OTHERS if name in headings))


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
