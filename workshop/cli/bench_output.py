"""Output of commands that measure speed: a bar while they measure, and their document as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from workshop.cli import common, params
from workshop.extension import load


def show(document: dict[str, Any], as_json: bool) -> None:
    rows = [
        (
            row["name"],
            "-" if row.get("value") is None else f"{row['value']:.4g}",
            row.get("note") or row.get("unit", ""),
        )
        for row in document["rows"]
        if row["name"] not in document["ratios"]
    ]
    intervals = document.get("intervals", {})
    notes = {row["name"]: f", {row['note']}" for row in document["rows"] if row.get("note")}
    units = {row["name"]: row["unit"] for row in document["rows"] if row.get("unit", "ratio") != "ratio"}
    for name, value in document["ratios"].items():
        ends = f" ({intervals[name][0]:.3f} to {intervals[name][1]:.3f})" if name in intervals else ""
        number = f"{value:.3f}" if ends else f"{value:.2f}"
        rows.append((name, number, f"{units.get(name, 'x')}{ends}{notes.get(name, '')}"))
    common.listing(as_json, document, ("measured", "value", "unit"), rows, ("value",))
    end(document)


def end(document: dict[str, Any]) -> None:
    """End with the code of an interrupted command where the bench was."""
    if "interrupted" in document:
        raise typer.Exit(130)


Measure = Callable[[Callable[[int, int], None], Callable[[str], None]], dict[str, Any]]


def alone(measure: Measure, no_wait: bool) -> dict[str, Any]:
    """Measure `with_bar` as soon as this machine is free for measuring; with `no_wait`, refuse where it isn't free."""
    from workshop.runtime.measurement_lock import measuring_lock, refuse_wait

    if no_wait:
        refuse_wait()
    with measuring_lock(common.stderr().print):
        return with_bar(measure)


def with_bar(measure: Measure) -> dict[str, Any]:
    """Measure, and show how far that is: a bar on a terminal, else a line for each tenth. The document of a bench that
    was interrupted with results says so in `interrupted`."""
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    err = common.stderr()
    far, tenths = (0, 0), 0

    def look(done: int, total: int) -> None:
        nonlocal far, tenths
        far = done, total
        bar.update(task, completed=done, total=total)
        if not err.is_terminal and 10 * done // max(total, 1) > tenths:
            tenths = 10 * done // max(total, 1)
            err.print(f"{done} of {total} turns measured.")

    columns = (*Progress.get_default_columns()[:-1], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("measuring", total=None)
        document = measure(look, err.print)
    if far[0] < far[1]:
        err.print(f"Interrupted after {far[0]} of {far[1]} turns: these are the results of the rounds that were whole.")
        return document | {"interrupted": {"done": far[0], "total": far[1]}}
    return document


def command(run: str, text: str, repeats: int = 0, least: int = 1, **others: tuple[Any, Any]) -> Callable[..., None]:
    """The command of a bench, with the help `text`.

    `run` is a reference to a function that gets the options and `progress`, and returns the document. For a bench that
    measures in interleaved repeats, `repeats` is the default number of repeats and `least` the lowest one; with 0 there
    is no such option. `others` are further options, each with its type and default.
    """

    def measure(no_wait: bool, as_json: bool, **options: Any) -> None:
        show(alone(lambda progress, _: load(run)(**options, progress=progress), no_wait), as_json)

    measure.__doc__ = text
    if repeats:
        option = Annotated[int, typer.Option(min=least, help="Interleaved repeats of which medians are taken.")]
        others = {"repeats": (option, repeats), **others}
    others |= {"no_wait": (common.NoWait, False), "as_json": (common.JSON, False)}
    return params.with_options(measure, [(name, *about) for name, about in others.items()])
