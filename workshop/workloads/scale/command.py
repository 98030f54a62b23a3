"""What a measured curve says of more workers: a model of the step time, with intervals.

\b
  workshop scale fit curve.csv --predict 64,256    rates that were not measured

The file has the columns workers and rate, with a line for each measurement:

\b
  workers,rate
  1,52.4
  8,378
  16,751
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from workshop.cli import common
from workshop.core import words
from workshop.core.errors import BadInput

app = typer.Typer(help=__doc__, no_args_is_help=True)

Workers = Annotated[str, typer.Option("--predict", metavar="N,N,…", help="Numbers of workers whose rate is predicted.")]


@app.callback()
def scale() -> None:
    """Keep `fit` a command of its own."""


@app.command()
def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file with the columns workers and rate.")],
    predict: Workers = "",
    as_json: common.JSON = False,
) -> None:
    """Fit a curve of at least two points, and predict rates with intervals of 90 %."""
    from workshop.workloads.scale import curve, fit

    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} can't be read ({error.strerror}).") from None
    if len(data) > curve.LARGEST:
        raise BadInput(f"{file} has {words.size(len(data))}; a curve has at most {words.size(curve.LARGEST)}.")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text; it should be a CSV file with the columns workers and rate.") from None
    fitted = fit.fit(curve.read(text, file.name), _counts(predict))
    if as_json:
        common.answer(_document(fitted))
        return
    _show(fitted)


def _counts(text: str) -> list[int]:
    """Numbers of workers from words such as 64,256. Raises BadInput."""
    counts = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        if not (word.isascii() and word.isdigit() and len(word) < 12):
            raise BadInput(f"--predict has {word!r:.40}; it should be whole numbers of workers, such as 64,256.")
        counts.append(int(word))
    return counts


def _document(fitted: Any) -> dict[str, Any]:
    points = zip(fitted.curve.workers, fitted.curve.rates, fitted.rates, strict=True)
    return {
        "parameters": {
            name: {"mean": mean, "deviation": deviation} for name, (mean, deviation) in fitted.parameters.items()
        },
        "rate_of_one": fitted.rate_of_one,
        "points": [{"workers": count, "rate": rate, "fitted": value} for count, rate, value in points],
        "mean_error": fitted.mean_error,
        "unclear": list(fitted.unclear),
        "unused": list(fitted.curve.unused),
        "predicted": [asdict(prediction) for prediction in fitted.predicted],
    }


def _show(fitted: Any) -> None:
    single = fitted.rate_of_one
    rows = [
        (
            words.thousands(count),
            words.rate(rate),
            words.rate(value),
            words.percent(value / (count * single)),
        )
        for count, rate, value in zip(fitted.curve.workers, fitted.curve.rates, fitted.rates, strict=True)
    ]
    common.show_table(("workers", "measured", "fitted", "efficiency"), rows)
    print(f"On average, the fit is {100 * fitted.mean_error:.1f} % away from the measured rates.")
    if fitted.predicted:
        predictions = [
            (
                words.thousands(prediction.workers),
                words.rate(prediction.rate),
                f"{words.rate(prediction.low)} to {words.rate(prediction.high)}",
                words.percent(prediction.rate / (prediction.workers * single)),
                "far beyond the data" if prediction.far else "",
            )
            for prediction in fitted.predicted
        ]
        common.show_table(("workers", "predicted", "90 % interval", "efficiency", ""), predictions)
    for sentence in fitted.unclear:
        print(sentence)
    if fitted.curve.unused:
        print(f"The fit doesn't use {words.listed(fitted.curve.unused)}.")
