"""The workload as a whole, in one process: events, artifacts, metrics, and how it ends."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from mpi4py import MPI
from PIL import Image

from tests.workloads.kmeans.oracle import exact_inertia
from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.kmeans import WORKLOAD, photo
from workshop.workloads.kmeans.data import Blobs


def run(sink=None, **values):
    sink = sink or Memory()
    params = WORKLOAD.check(values)
    ctx = RankContext(MPI.COMM_SELF, sink, WORKLOAD.inputs(params, no_artifacts))
    metrics = WORKLOAD.load()(ctx, params)
    json.dumps(metrics, allow_nan=False)
    return metrics, sink


def events(sink, name):
    return {step: value for _, found, step, value in sink.events if found == name}


@pytest.mark.parametrize("mode", ["batch", "online"])
def test_a_photo_is_quantised(mode):
    metrics, sink = run(clusters=8, mode=mode)
    before = photo.pixels(WORKLOAD.inputs(WORKLOAD.check({}), no_artifacts)["photo"])
    original = Image.open(io.BytesIO(sink.artifacts["original.png"][1]))
    quantised = Image.open(io.BytesIO(sink.artifacts["quantised.png"][1]))
    np.testing.assert_array_equal(np.asarray(original), before)
    assert quantised.mode == "P" and quantised.size == original.size
    after = np.asarray(quantised.convert("RGB"))
    palette = {f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.unique(after.reshape(-1, 3), axis=0)}
    assert palette == set(metrics["palette"])
    assert len(metrics["palette"]) == 8
    # What can be seen is what was told: squared distances in colour space, but for the rounding of colours to bytes.
    assert np.square((after.astype(float) - before) / 255).sum() == pytest.approx(metrics["inertia"], rel=1e-2)
    assert metrics["bytes_before"] == len(sink.artifacts["original.png"][1])
    assert metrics["bytes_after"] == len(sink.artifacts["quantised.png"][1]) < metrics["bytes_before"] / 3
    assert sum(metrics["sizes"]) == metrics["points"] == 427 * 640
    assert set(metrics["seconds"]) == {"prepare", "initialise", "fit", "predict"}
    assert "preview.png" not in sink.artifacts
    for name in ("inertia", "moved", "time.compute", "time.communicate", "time.wait"):
        assert set(range(1, metrics["iterations"] + 1)) <= set(events(sink, name)), name
    if mode == "batch":
        assert metrics["converged"]
    else:
        assert metrics["iterations"] == -(-427 * 640 // 4096)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blobs_are_found(backend, dtype):
    values = {"data": "blobs", "points": 20_001, "features": 3, "clusters": 3, "seed": 5}
    metrics, sink = run(**values, backend=backend, dtype=dtype)
    points = Blobs(20_001, 3, 3, 5, dtype).read(0, 20_001)
    assert metrics["inertia"] == pytest.approx(exact_inertia(points, np.array(metrics["centroids"])), rel=1e-4)
    assert metrics["inertia"] == pytest.approx(20_001 * 3, rel=0.05)  # unit variance along each axis
    assert metrics["points_per_rank"] == [20_001]
    assert not sink.artifacts
    assert sink.done[0] == sink.done[1]


def test_a_stream_is_enough_to_find_blobs():
    stream, sink = run(data="blobs", points=60_000, features=3, clusters=5, mode="online", batch=1000)
    assert stream["iterations"] == 60
    assert stream["inertia"] == pytest.approx(60_000 * 3, rel=0.1)  # unit variance along each axis
    assert events(sink, "inertia")[60] == pytest.approx(stream["inertia"] / 60, rel=0.2)


class StopAfter(Memory):
    """A sink that asks for a stop when an iteration has been told."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def stop_requested(self):
        return any(step == self.step for _, _, step, _ in self.events)


class Stopped(Memory):
    """A sink that asks for a stop from the first, and counts how often it is asked."""

    asked = 0

    def stop_requested(self):
        self.asked += 1
        return True


@pytest.mark.parametrize("mode", ["batch", "online"])
def test_a_stop_ends_it_in_that_iteration(mode):
    metrics, sink = run(StopAfter(3), mode=mode)
    assert metrics["stopped"] and not metrics["converged"] and metrics["iterations"] == 3
    assert "quantised.png" not in sink.artifacts


def test_a_stop_is_heard_while_centroids_are_still_being_chosen():
    sink = Stopped()
    metrics, _ = run(sink, data="blobs", points=20_000, clusters=2048, init="k-means++")
    assert metrics["stopped"] and metrics["iterations"] == 1
    assert sink.asked < 10, "it was not asked again for each of the centroids"
