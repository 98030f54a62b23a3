"""The workload on two real ranks, and the library's integers against arithmetic of NumPy's own."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.ranks import run_ranks
from tests.support import starts_processes
from workshop.workloads.quantisation import FORMATS, INSTRUCTIONS

pytestmark = pytest.mark.real

ROUNDED = 1e-4  # of a step: the library divides in float32


@pytest.fixture(scope="module")
@starts_processes
def program():
    return run_ranks("tests.workloads.quantisation.ranks_program", 2)


@pytest.fixture(scope="module")
def metrics(program):
    return program["run"]["metrics"]


@pytest.fixture(scope="module")
def library(program):
    return program["library"]


@pytest.fixture(scope="module")
def dense(library):
    arrays = {name: np.array(value) for name, value in library["dense"].items()}
    sums = (arrays["inputs"].reshape(4, -1) - arrays["zero_point"]) @ arrays["weights"].T
    return arrays | {"sums": sums}


def test_every_format_keeps_the_accuracy_within_some_points(metrics):
    formats = metrics["formats"]
    assert set(formats) == set(FORMATS)
    assert metrics["evaluated"] == 101 and metrics["fp32_accuracy"] > 0.9
    for name, row in formats.items():
        assert abs(row["accuracy"] - metrics["fp32_accuracy"]) <= 0.05, name
        assert row["accuracy"] * 101 == pytest.approx(round(row["accuracy"] * 101)), "each image counts once"


def test_fewer_bits_take_fewer_bytes_and_make_larger_errors(metrics):
    formats, weights = metrics["formats"], metrics["parameters"]
    for name, width in (("fp32", 4), ("fp16", 2), ("bf16", 2), ("int8", 1), ("int8-tensor", 1), ("int16", 1)):
        assert 0 < formats[name]["bytes"] - width * weights < 20_000, f"{name}: the weights and a little more"
    errors = {name: row["mean_error"] for name, row in formats.items()}
    assert errors["fp32"] == 0 < errors["fp16"] < errors["bf16"] < errors["int8"]
    assert all(row["mean_error"] <= row["error"] for row in formats.values())


def test_rates_are_those_of_both_ranks(metrics):
    formats = metrics["formats"]
    assert all(row["images_per_second"] > 0 for row in formats.values())
    assert metrics["speed_up"] == formats["int8"]["images_per_second"] / formats["fp32"]["images_per_second"]
    assert not metrics["stopped"] and set(metrics["instructions"]) <= set(INSTRUCTIONS)


def test_the_fp32_file_computes_what_keras_computes(library):
    assert library["keras_difference"] < 1e-5
    np.testing.assert_array_equal(library["weights"]["fp32"], library["kernel"])


def test_bf16_is_the_nearest(library):
    exact = np.array(library["kernel"], np.float32)
    expected = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(library["weights"]["bf16"], expected)
    assert (np.abs(expected - exact) <= 2**-8 * np.abs(exact)).all()


@pytest.mark.parametrize(("name", "axis"), [("int8", 1), ("int8-tensor", None)])
def test_symmetric_quantisation_per_channel_and_per_tensor(library, name, axis):
    exact = np.array(library["kernel"])
    largest = np.abs(exact).max(axis=axis, keepdims=True)
    np.testing.assert_allclose(np.ravel(library["scales"][name]), np.ravel(largest) / 127, rtol=1e-6)
    quotients = exact / (largest / 127)
    integers = np.array(library["weights"][name])
    assert np.abs(integers).max() == 127, "the largest weight takes the last step"
    assert np.abs(integers - quotients).max() <= 0.5 + ROUNDED
    clear = np.abs(quotients - np.floor(quotients) - 0.5) > ROUNDED  # the others are ties but for rounding
    np.testing.assert_array_equal(integers[clear], np.rint(quotients)[clear])


@pytest.mark.parametrize("name", ["int8", "int8-tensor"])
def test_the_drawn_error_is_that_of_the_files_and_at_most_half_a_scale(library, name):
    exact, drawn = np.array(library["kernel"]), library["ranges"][name]
    scales = np.broadcast_to(np.array(library["scales"][name]), len(exact))
    np.testing.assert_allclose(drawn["scales"], scales)
    expected = [np.abs(row - scale * np.array(whole)).max() for row, scale, whole in zip(
        exact, scales, library["weights"][name], strict=True)]  # fmt: skip
    np.testing.assert_allclose(drawn["errors"], expected, rtol=1e-3)
    assert (np.array(drawn["errors"]) <= scales * (0.5 + ROUNDED)).all()
    assert library["ranges"]["low"] == exact.min(axis=1).tolist()
    assert library["ranges"]["high"] == exact.max(axis=1).tolist()


def test_the_sums_are_those_that_the_library_scales_back(dense):
    """LiteRT's specification: output = scale · (sums + bias), with a ReLU that the range of the outputs cuts off."""
    real = dense["input_scale"] * dense["scales"] * (dense["sums"] + dense["bias"])
    expected = np.clip(np.rint(real / dense["output_scale"]) + dense["output_zero_point"], -128, 127)
    lowest = max(dense["output_zero_point"], -128)
    assert np.abs(np.maximum(expected, lowest) - dense["outputs"]).max() <= 1


def test_int32_has_the_exact_sum_and_narrow_integers_wrap_around(library, dense):
    drawn = library["overflow"]
    exact = int(dense["sums"].ravel()[np.abs(np.abs(dense["sums"]) - 3 * 2**15).argmin()])
    assert drawn["exact"] == exact == drawn["sums"]["INT32"][-1]
    for name, bits in (("INT16", 16), ("INT8", 8)):
        half = 2 ** (bits - 1)
        assert drawn["sums"][name][-1] == (exact + half) % (2 * half) - half
        assert all(-half <= value < half for value in drawn["sums"][name])
    assert drawn["sums"]["INT8"][-1] != exact, "no sum of this layer is as small as that"
    beyond = (dense["sums"] < -(2**15)) | (dense["sums"] >= 2**15)
    assert drawn["share"] == pytest.approx(beyond.mean())


def test_the_run_draws_a_trained_layer(program, metrics):
    drawn = program["run"]["drawn"]
    assert len(drawn["ranges"]["low"]) == 32 and len(drawn["overflow"]["sums"]["INT32"]) == 1600
    assert metrics["overflow_share"] == drawn["overflow"]["share"] > 0, "INT16 is too narrow for this network"
    assert drawn["overflow"]["sums"]["INT16"][-1] != drawn["overflow"]["exact"]
