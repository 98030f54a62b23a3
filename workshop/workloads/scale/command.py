"""Measure a step, and predict it on more ranks or with changes. Fit curves, and compare with published machines.

\b
  workshop scale calibrate --per-host 2 --ranks 4 --output four.json
  workshop scale calibrate --run 12 --output mnist.json    a training run
  workshop scale predict four.json --ranks 8,64,2048 --set bandwidth=500
  workshop scale fit curve.csv --predict 64,256    rates that were not measured
  workshop scale published k80-ec2                 measured and predicted

A curve is a file with the columns workers and rate, with a line for each measurement. It can also have the columns
bytes (of the gradients), batch (of each worker) and algorithm (of the all-reduce, such as ring or tree):

\b
  workers,rate
  1,52.4
  8,378
  16,751
"""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.core import topology, words
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.report.cards import Card
    from workshop.workloads.scale.calibration import StepMeasurement
    from workshop.workloads.scale.regression import Fitted

MOST_ROWS = 100  # of a table
FAR = 1000  # times the measured ranks: a prediction beyond is marked

app = typer.Typer(help=__doc__, no_args_is_help=True)

CalibrationFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A calibration of `workshop scale calibrate --output`.")
]
Workers = Annotated[str, typer.Option("--predict", metavar="N,N,…", help="Numbers of workers whose rate is predicted.")]


@app.command()
def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file with the columns workers and rate.")],
    predict: Workers = "",
    as_json: common.JSON = False,
) -> None:
    """Fit a curve of at least two points, and predict rates. Intervals of 90 % are given."""
    from workshop.workloads.scale import regression

    text = _read(file, regression.LARGEST, "a CSV file with the columns workers and rate")
    fitted = regression.fit(regression.read_curve(text, file.name), _counts(predict, "--predict"))
    if as_json:
        common.answer(_document(fitted))
        return
    _show(fitted)


def _read(file: Path, largest: int, kind: str) -> str:
    """The text of a file of at most so many bytes. Raises BadInput with its name."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} can't be read ({error.strerror}).") from None
    if len(data) > largest:
        raise BadInput(f"{file} has {words.size(len(data))}; it should be {kind} of at most {words.size(largest)}.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text; it should be {kind}.") from None


def _calibrated(file: Path) -> StepMeasurement:
    """The measurement in a file. Raises BadInput with its name."""
    from workshop.workloads.scale import calibration

    text = _read(file, calibration.LARGEST, "a calibration of `workshop scale calibrate --output`")
    return calibration.StepMeasurement.read(text, file.name)


def _counts(text: str, option: str) -> list[int]:
    """Numbers of workers from words such as 64,256. Raises BadInput."""
    counts = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        if not (word.isascii() and word.isdigit() and len(word) < 12):
            raise BadInput(f"{option} has {word!r:.40}; it should be whole numbers, such as 64,256.")
        counts.append(int(word))
    return counts


def _document(fitted: Fitted) -> dict[str, Any]:
    points = zip(fitted.curve.workers, fitted.curve.rates, fitted.rates, strict=True)
    return {
        "parameters": {
            name: {"mean": mean, "deviation": deviation} for name, (mean, deviation) in fitted.parameters.items()
        },
        "rate_of_one": fitted.rate_of_one,
        "points": [{"workers": count, "rate": rate, "fitted": value} for count, rate, value in points],
        "mean_error": fitted.mean_error,
        "unclear": list(fitted.unclear),
        "predicted": [asdict(prediction) for prediction in fitted.predicted],
    }


def _show(fitted: Fitted) -> None:
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


@app.command()
def calibrate(
    ranks: Annotated[int, typer.Option(min=1, max=64, help="Ranks on which the parts are measured.")] = 2,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A param of the workload `training-step`.")
    ] = None,
    run: Annotated[
        int | None, typer.Option("--run", metavar="N", help="Take the parts from the events of this training run.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the calibration there, as JSON.")] = None,
    session: common.SessionName = None,
    private: common.Private = False,
    as_json: common.JSON = False,
) -> int:
    """Measure the parts of a step. It runs in the session that is up, or in a private one."""
    from workshop.cli.run import run_and_watch
    from workshop.store.store import Store
    from workshop.workloads.scale import WORKLOAD, training_run
    from workshop.workloads.scale.calibration import StepMeasurement

    if run is not None and (settings or session or private):
        raise BadInput("--run takes a run that has ended, so --set, --session and --private can't be used with it.")
    store = Store.open()
    if run is not None:
        record = store.run(run)
        document = training_run.document(store, record)
    else:
        values = {**_settings(settings), "calibrate": True}
        WORKLOAD.check(values)
        record = run_and_watch(store, WORKLOAD, values, session, private, True, ranks=ranks, oversubscribe=True)
        document = record.as_json()
    if record.status == "completed" or run is not None:
        measurement = StepMeasurement.of_run(document, f"Run {record.id}")
        if output is not None:
            _write(output, document)
        if not as_json:
            _show_calibration(measurement)
    if as_json:
        common.answer(document)
    return 0 if record.status == "completed" or run is not None else 1


@app.command()
def predict(
    file: CalibrationFile,
    ranks: Annotated[str, typer.Option(metavar="N,N,…", help="Numbers of ranks.")] = "2,4,8,64,512",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A param that is changed.")
    ] = None,
    as_json: common.JSON = False,
) -> None:
    """Predict a step on more ranks, or with other params. Intervals of 90 % are given."""
    from workshop.workloads.scale import WORKLOAD, StepParams, cards, step

    measurement = _calibrated(file)
    changed = WORKLOAD.check({**measurement.params.model_dump(), **_settings(settings)})
    assert isinstance(changed, StepParams)
    predictions = [step.predict(measurement, changed, count) for count in _counts(ranks, "--ranks")]
    if as_json:
        common.answer([asdict(prediction) | {"rate": prediction.rate} for prediction in predictions])
        return
    _print(cards.predicted(predictions, {}))
    calibrated = measurement.calibration
    if any(prediction.ranks > FAR * calibrated.ranks for prediction in predictions):
        print(f"Predictions for more than {FAR:,} times the {calibrated.ranks} measured ranks are far beyond the data.")
    here = topology.machine() | {"cores": topology.allowed_cores(topology.machine())}
    if difference := calibrated.difference(here):
        print(f"The calibration is of another machine than this one ({difference}): calibrate again to check it here.")


@app.command()
def published(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A machine; without it, all are listed.")] = "",
    as_json: common.JSON = False,
) -> None:
    """Show published curves beside predictions of them. These use only the points of few workers."""
    from workshop.workloads.scale import cards
    from workshop.workloads.scale.published import comparison, machine, machines

    if not name:
        common.show_table(("name", "machine"), [(key, entry.title) for key, entry in machines().items()])
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


def _settings(texts: list[str] | None) -> dict[str, Any]:
    """Params from words such as bandwidth=500. Raises BadInput."""
    from workshop.workloads.scale import StepParams

    values = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or name not in StepParams.model_fields:
            names = ", ".join(StepParams.model_fields)
            raise BadInput(f"--set has {text!r:.60}; it should be NAME=VALUE, where NAME is one of {names}.")
        values[name] = value
    return values


def _write(file: Path, document: dict[str, Any]) -> None:
    """Write JSON. Raises BadInput where the file can't be written."""
    content = {name: document[name] for name in ("workload", "params", "metrics")}
    try:
        file.write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} can't be written ({error.strerror}).") from None


def _show_calibration(measurement: StepMeasurement) -> None:
    calibration = measurement.calibration
    network = calibration.network
    machine, rank_words = calibration.machine, words.count(calibration.ranks, "rank")
    print(f"{rank_words} on {machine.get('model')} ({machine.get('cores')} cores), {machine.get('host')}.")
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
    for overlap, title in (("false", "without overlap"), ("true", "with overlap")):
        if overlap in calibration.overlap:
            rows.append((f"compute and exchange {title}", words.seconds(calibration.overlap[overlap])))
    common.show_table(("part", "measured"), [*rows, ("a step", words.seconds(measurement.step))])
