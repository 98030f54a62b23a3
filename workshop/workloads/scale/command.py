"""Measure a step, and predict it on more ranks or with changes. Fit curves, and compare with published machines.

\b
  workshop scale calibrate --ranks 4 --set per_host=2    says which run it is, such as 12
  workshop scale predict 12 --ranks 8,64,2048 --set bandwidth=500    also from a training run
  workshop scale fit curve.csv --predict 64,256    rates that were not measured
  workshop scale published k80-ec2                 measured and predicted

A curve is a file with the columns workers and rate, with a line for each measurement:

\b
  workers,rate
  1,52.4
  8,378
  16,751
"""

from __future__ import annotations

import statistics
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core import words
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.report.cards import Card
    from workshop.workloads.scale.regression import Fitted
    from workshop.workloads.scale.step import StepMeasurement

MOST_ROWS = 100  # of a table

app = typer.Typer(help=__doc__, no_args_is_help=True)

Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A param of the workload `training-step`.")
]
Workers = Annotated[str, typer.Option("--predict", metavar="N,N,…", help="Numbers of workers whose rate is predicted.")]


@app.command()
def fit(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A CSV file, columns workers and rate."),
    ],
    predict: Workers = "",
    as_json: common.JSON = False,
) -> None:
    """Fit a curve of at least two points, and predict rates. Intervals of 90 % are given."""
    from workshop.workloads.scale import regression

    curve = regression.read_curve(file.read_text(encoding="utf-8-sig", errors="replace"), file.name)
    fitted = regression.fit(curve, _counts(predict, "--predict"))
    if as_json:
        common.answer(asdict(fitted))
        return
    _show(fitted)


def _counts(text: str, option: str) -> list[int]:
    """Numbers of workers from words such as 64,256. Raises BadInput."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if any(not word.isdecimal() or int(word) < 1 for word in words):
        raise BadInput(f"{option} is {text!r:.40}; it should be whole numbers, such as 64,256.")
    return list(map(int, words))


def _show(fitted: Fitted) -> None:
    single = fitted.rate_of_one
    rows = [
        (
            words.quantity(count),
            words.quantity(rate),
            words.quantity(value),
            words.percent(value / (count * single)),
        )
        for count, rate, value in zip(fitted.curve.workers, fitted.curve.rates, fitted.rates, strict=True)
    ]
    common.show_table(("workers", "measured", "fitted", "efficiency"), rows)
    print(f"On average, the fit is {100 * fitted.mean_error:.1f} % away from the measured rates.")
    if fitted.predicted:
        predictions = [
            (
                words.quantity(prediction.workers),
                words.quantity(prediction.rate),
                f"{words.quantity(prediction.low)} to {words.quantity(prediction.high)}",
                words.percent(prediction.rate / (prediction.workers * single)),
            )
            for prediction in fitted.predicted
        ]
        common.show_table(("workers", "predicted", "90 % interval", "efficiency"), predictions)
    if fitted.note:
        print(fitted.note)


@app.command()
def calibrate(
    ranks: Annotated[int, typer.Option(min=1, max=64, help="Ranks on which the parts are measured.")] = 2,
    settings: Settings = None,
    session: common.SessionName = None,
    private: common.Private = False,
    as_json: common.JSON = False,
) -> int:
    """Measure the parts of a step. It runs in the session that is up, or in a private one."""
    from workshop.cli.run import run_and_watch
    from workshop.store.store import Store
    from workshop.study.grid.axes import read_settings
    from workshop.workloads.scale import WORKLOAD
    from workshop.workloads.scale.step import StepMeasurement

    values = {**read_settings(settings or (), WORKLOAD), "calibrate": True}
    record = run_and_watch(Store.open(), WORKLOAD, values, session, private, True, ranks=ranks, oversubscribe=True)
    if as_json:
        common.answer(record.as_json())
    elif record.status == "completed":
        _show_calibration(StepMeasurement.of_run(record.as_json(), f"Run {record.id}"))
        print(f"workshop scale predict {record.id} predicts this step on other numbers of ranks.")
    return 0 if record.status == "completed" else 1


@app.command()
def predict(
    run: Annotated[
        int, typer.Argument(metavar="RUN", help="The number of a run that calibrated, or of data-parallel training.")
    ],
    ranks: Annotated[str, typer.Option(metavar="N,N,…", help="Numbers of ranks.")] = "2,4,8,64,512",
    settings: Settings = None,
    as_json: common.JSON = False,
) -> None:
    """Predict a step on more ranks, or with other params. Intervals of 90 % are given."""
    from workshop.store.store import Store
    from workshop.study.grid.axes import read_settings
    from workshop.workloads.scale import WORKLOAD, StepParams, cards, step, training_run

    store = Store.open()
    measurement = training_run.measurement(store, store.run(run))
    changed = WORKLOAD.check({**measurement.params.model_dump(), **read_settings(settings or (), WORKLOAD)})
    assert isinstance(changed, StepParams)
    predictions = [step.predict(measurement, changed, count) for count in _counts(ranks, "--ranks")]
    if as_json:
        common.answer([asdict(prediction) | {"rate": prediction.rate} for prediction in predictions])
        return
    _print(cards.predicted(predictions, {}))


@app.command()
def published(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A machine; without it, all are listed.")] = "",
    as_json: common.JSON = False,
) -> None:
    """Show published curves beside predictions of them. These use only the points of few workers."""
    from workshop.workloads.scale import cards
    from workshop.workloads.scale.regression import comparison, machine, machines

    if not name:
        titles = {key: entry.title for key, entry in machines().items()}
        common.listing(as_json, titles, ("name", "machine"), list(titles.items()))
        return
    chosen = machine(name)
    points = comparison(chosen)
    if as_json:
        common.answer([asdict(point) | {"error": point.error, "inside": point.inside} for point in points])
        return
    _print(cards.compared(chosen, points))


def _print(card: Card) -> None:
    from rich.console import Console

    from workshop.report import terminal

    terminal.show(Console(highlight=False), [card], MOST_ROWS)


def _show_calibration(measurement: StepMeasurement) -> None:
    calibration = measurement.calibration
    network = calibration.network
    rows = [
        *(
            (f"compute of {size} examples", words.seconds(calibration.compute_seconds(size)))
            for size in calibration.compute
        ),
        *(
            (name, words.seconds(calibration.mean(name)))
            for name in ("input", "evaluation", "checkpoint")
            if getattr(calibration, name)
        ),
    ]
    for place in calibration.messages:
        link = getattr(network, place)
        title = "inside a host" if place == "inside" else "between hosts"
        rows.append((f"message {title}", f"{words.seconds(link.latency)} and {words.size(link.bandwidth)}/s"))
    for algorithm, times in calibration.all_reduces.items():
        size = max(times)
        rows.append((f"all-reduce of {words.size(size)}, {algorithm}", words.seconds(statistics.median(times[size]))))
    common.show_table(("part", "measured"), [*rows, ("a step", words.seconds(measurement.step))])
