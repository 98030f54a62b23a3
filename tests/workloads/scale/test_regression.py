"""Curves from files and from published machines, their fit, and its intervals against curves that the model draws."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scale import judged
from tests.study.conftest import Command, command
from workshop.core.errors import BadInput
from workshop.workloads.scale import regression
from workshop.workloads.scale.regression import HOST_SIZES, ScalingCurve, fit, read_curve

__all__ = ["command"]
# TensorFlow's benchmarks of 2017: K80 on EC2, synthetic data, images/s.
WORKERS = (1, 8, 16, 32, 64)
RESNET, INCEPTION = (52.4, 378.0, 751.0, 1388.0, 2744.0), (29.7, 229.0, 459.0, 902.0, 1783.0)


def test_published_curves_are_predicted_better_than_by_the_rate_of_a_worker() -> None:
    errors, naive = [], []
    for rates in (RESNET, INCEPTION):
        fitted = fit(ScalingCurve(WORKERS[:3], rates[:3]), WORKERS[3:])
        assert fitted.mean_error < 0.01
        for prediction, measured in zip(fitted.predicted, rates[3:], strict=True):
            errors.append(abs(prediction.rate / measured - 1))
            naive.append(abs(rates[2] / WORKERS[2] * prediction.workers / measured - 1))
    assert np.mean(errors) < 0.05 and np.mean(errors) < np.mean(naive)


def test_intervals_hold_points_of_curves_that_the_model_draws() -> None:
    stream = np.random.default_rng(4)
    held = 0
    for _ in range(60):
        parameters = np.abs(list(regression.PRIOR.values()) * stream.standard_normal(len(regression.PRIOR)))
        workers = (1, 2, 4, 8, 16, 128)
        rates = 100 * np.array(workers) / regression.step_times(parameters, stream.choice(HOST_SIZES), workers)
        rates *= np.exp(0.01 * stream.standard_normal(len(workers)))
        (prediction,) = fit(ScalingCurve(workers[:5], tuple(rates[:5].tolist())), [128]).predicted
        held += prediction.low <= rates[5] <= prediction.high
    assert held >= 54, "the intervals also have the error of the model, which is none here"


@pytest.mark.parametrize("fitted", [2, 5])
def test_intervals_hold_most_published_points_after_few_are_fitted(fitted: int) -> None:
    inside = [
        prediction.low <= measured <= prediction.high
        for machine in regression.machines().values()
        if not machine.changes
        for curve in machine.curves.values()
        if len(curve.workers) > fitted
        for prediction, measured in zip(
            fit(ScalingCurve(curve.workers[:fitted], curve.rates[:fitted]), curve.workers[fitted:]).predicted,
            curve.rates[fitted:],
            strict=False,  # nothing is predicted where the fit is wrong
        )
        if prediction.workers <= 256
    ]
    assert len(inside) > 15 and sum(inside) >= 0.85 * len(inside)


@pytest.mark.parametrize("rates", [(100.0, 50.5), (100.0, 120.0, 90.0, 60.0)])
def test_nothing_is_predicted_where_more_workers_are_slower(rates: tuple[float, ...]) -> None:
    fitted = fit(ScalingCurve(WORKERS[: len(rates)], rates), [4])
    assert fitted.predicted == () and "can't describe these points" in fitted.note


def test_the_slowest_of_n_is_that_of_a_simulation() -> None:
    stream = np.random.default_rng(1)
    for workers in (2, 16, 256):
        simulated = stream.standard_normal((4000, workers)).max(axis=1).mean()
        assert regression.slowest(np.array([float(workers)]))[0] == pytest.approx(simulated, abs=0.06)
    assert regression.slowest(np.array([1.0]))[0] == 0


def test_the_command_answers_in_words_and_as_json(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "k80.csv"
    file.write_text("workers,rate\n" + "".join(f"{n},{r}\n" for n, r in zip(WORKERS, RESNET, strict=True)))
    document: dict[str, Any] = json.loads(command("scale", "fit", str(file), "--predict", "64,256", "--json").out)
    assert set(document["parameters"]) == set(regression.PRIOR)
    assert [entry["workers"] for entry in document["predicted"]] == [64, 256]
    assert all(entry["low"] < entry["rate"] < entry["high"] for entry in document["predicted"])
    assert "90 % interval" in command("scale", "fit", str(file), "--predict", "256").out
    refused = command("scale", "fit", str(tmp_path / "none.csv"))
    assert refused.code == 2 and "does not exist" in refused.err
    for wrong in ("64,x", "0"):
        assert "whole numbers, such as 64,256" in command("scale", "fit", str(file), "--predict", wrong).err
    assert "k80-ec2" in command("scale", "published").out
    answer = json.loads(command("scale", "published", "v100-pair", "--json").out)
    assert answer[0]["measured"] == 632.8 and answer[0]["fitted"] == [1]


@pytest.mark.real
def test_a_step_is_calibrated_and_predicted_from_the_command_line(workshop_home: Path, command: Command) -> None:
    settings = ("compute=2", "steps=4", "per_host=1", "latency=100", "evaluation=1", "checkpoint=1")
    options = [word for setting in settings for word in ("--set", setting)]
    ended = command("scale", "calibrate", "--private", "--ranks", "2", *options)
    assert ended.code == 0, ended.err
    assert "message between hosts" in ended.out and "a step" in ended.out
    (number,) = re.findall(r"workshop scale predict (\d+)", ended.out)
    assert max(map(len, ended.out.splitlines())) <= 80
    words = ("scale", "predict", number)
    predictions = json.loads(command(*words, "--ranks", "2,512", "--set", "half=true", "--json").out)
    assert [entry["ranks"] for entry in predictions] == [2, 512]
    assert all(0 < entry["low"] <= entry["seconds"] <= entry["high"] for entry in predictions)
    assert "90 % interval" in command(*words, "--ranks", "4").out
    refused = command(*words, "--set", "foo=1")
    assert refused.code == 2 and "foo" in refused.err


def test_a_curve_has_its_points() -> None:
    curve = read_curve("Rate, workers\n52.4,1\n\n378,8\n", "k80.csv")
    assert (curve.workers, curve.rates) == ((1, 8), (52.4, 378.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "0 numbers of workers; a fit takes at least two"),
        ("workers,speed\n1,52\n", "line 2: the columns workers and rate should have numbers above 0"),
        ("workers,rate\n1,52\n8\n", "line 3: the columns"),
        ("workers,rate\n1,0\n", "line 2: the columns"),
        ("workers,rate\n1,many\n", "line 2: the columns"),
    ],
)
def test_a_damaged_curve_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=r"k80\.csv") as refused:
        read_curve(text, "k80.csv")
    assert sentence in str(refused.value)


def test_machines_have_a_source_and_curves_that_grow() -> None:
    machines = regression.machines()
    assert {"summit", "frontera", "horovod-512", "v100-pair", "k80-ec2", "goyal-256", "sgan", "unet"} <= set(machines)
    for machine in machines.values():
        assert machine.source and machine.title and machine.unit and machine.worker
        for curve in machine.curves.values():
            assert list(curve.workers) == sorted(set(curve.workers)) and min(curve.rates) > 0
            assert len(curve.workers) > 1 or "can" in machine.note or "no run" in machine.note


def test_no_point_is_fitted_and_predicted() -> None:
    for point in regression.comparison(regression.machine("k80-ec2")):
        assert point.fitted == (1, 8, 16) and point.prediction.workers in (32, 64)
    (pair,) = regression.comparison(regression.machine("v100-pair"))
    assert pair.fitted == (1,) and pair.prediction.workers == 2 and pair.inside


def test_predictions_beat_the_rate_that_stays() -> None:
    points = judged()
    assert len(points) >= 20
    mean = np.mean([abs(point.error) for point in points])
    assert mean < np.mean([abs(point.naive / point.measured - 1) for point in points])
    assert np.mean([point.inside for point in points]) >= 0.9


def test_what_is_missing_is_a_sentence() -> None:
    with pytest.raises(BadInput, match="There is no published machine 'x'; there are k80-ec2"):
        regression.machine("x")
    with pytest.raises(BadInput, match=r"Frontera.* can't be predicted\. Neither the talk"):
        regression.comparison(regression.machine("frontera"))
