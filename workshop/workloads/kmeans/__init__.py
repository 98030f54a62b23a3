"""k-means over MPI ranks: vector quantisation of a photo, or blobs of any size. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, setting
from workshop.extension import (
    Artifacts,
    Extension,
    Params,
    Preset,
    RunPrediction,
    Scaling,
    Tuning,
    Workload,
)

PHOTO: dict[str, Any] = {"when": {"data": "photo"}}
BLOBS: dict[str, Any] = {"when": {"data": "blobs"}}
ONLINE: dict[str, Any] = {"when": {"mode": "online"}}
# Photos of scikit-learn, and a picture that is drawn, which each machine has.
FIRST = "china" if find_spec("sklearn") is not None else "sunset"
# `page` is the dashboard's default where it differs, `file` a param that may also be an upload there.
PICTURES = ["jpg", "jpeg", "png", "webp", "bmp", "tiff"]
FILE: dict[str, Any] = {"file": {"choices": ["china", "flower", "sunset"], "types": PICTURES}}


class KMeansParams(Params):
    """The params of k-means: the data and the algorithm."""

    data: Literal["photo", "blobs"] = Field("photo", description="the pixels of a photo, or made-up blobs of points")
    image: str = setting(FIRST, "china, flower, sunset, or the path of a photo", {**PHOTO, **FILE}, min_length=1)
    points: int = setting(1_000_000, "points over all ranks", BLOBS, ge=1, le=200_000_000)
    features: int = setting(10, "features of each point", BLOBS, ge=1, le=1024)
    clusters: int = Field(16, ge=1, le=4096, description="clusters; colours of the palette for a photo")
    mode: Literal["batch", "online"] = Field(
        "batch", description="all points in every iteration, or a stream that is seen once"
    )
    batch: int = setting(4096, "points of the stream per step, over all ranks", ONLINE, ge=1, le=10_000_000)
    iterations: int = setting(100, "at most so many iterations", when={"mode": "batch"}, ge=1, le=10_000)
    tolerance: float = setting(
        1e-4,
        "converged when the centroids' squared moves add up to less than this share of the variance",
        ADVANCED,
        {"mode": "batch"},
        ge=0,
        le=1,
    )
    init: Literal["k-means++", "random"] = setting(
        "k-means++", "start from points far apart, or from any points", ADVANCED
    )
    seed: int = setting(0, "seed of the start and of blobs", ADVANCED, ge=0, le=2**32 - 1)
    dtype: Literal["float32", "float64"] = setting("float32", "precision", ADVANCED)
    backend: Literal["numba", "numpy", "daal4py"] = setting(
        "numba", "the compiled kernel, the readable one, or Intel's library (on MPICH or Intel MPI)", ADVANCED
    )
    algorithm: Literal["hamerly", "lloyd"] = setting(
        "hamerly",
        "bounds leave out distances that can't change a label, or all are computed; the result is the same",
        ADVANCED,
        {"backend": "numba"},
    )
    pace: float = setting(
        0, "least seconds per iteration, to watch it; not in timings", {"page": 0.3, "unit": "s"}, ge=0, le=10
    )

    @model_validator(mode="after")
    def _enough_points(self) -> KMeansParams:
        if self.data == "blobs" and self.clusters > self.points:
            raise ValueError(f"{self.clusters} clusters need as many points; there are {self.points}")
        if self.mode == "online" and self.clusters > self.batch:
            raise ValueError(f"{self.clusters} clusters need as many points in a batch; there are {self.batch}")
        return self


def _inputs(params: KMeansParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The photo's bytes, checked; nothing for blobs. Raises BadInput, also where the backend is not here."""
    if params.backend == "daal4py":
        from workshop.mpi import daal

        daal.check_here("numba")
    if params.data == "blobs":
        return {}
    from workshop.workloads.kmeans.photo import read

    return {"photo": read(params.image, params.clusters)}


WORKLOAD = Workload(
    name="kmeans",
    title="k-means",
    summary="Clusters points spread over ranks; on a photo, it finds the palette that shows it with few colours.",
    params=KMeansParams,
    function="workshop.workloads.kmeans.run:run",
    inputs=_inputs,
    results=(
        *("inertia", "iterations", "converged", "points_per_second", "clusters", "points"),
        *("bytes_before", "bytes_after"),
    ),
    metrics={
        "points_per_second": "throughput [points/s]",
        "inertia": "inertia",
        "iterations": "iterations",
        "converged": "converged",
        "points": "points",
        "clusters": "clusters",
        "stopped": "stopped early",
        "features": "values of each point",
        "backend": "kernel",
        "bytes_per_step": "sent per iteration",
        "messages_per_step": "messages per iteration",
        "distances_share": "distances computed, of points × clusters",
        "seconds.prepare": "time of preparing the data",
        "seconds.initialise": "time of choosing the first centroids",
        "seconds.fit": "time of all iterations",
        "seconds.predict": "time of the final assignment",
        "width": "width of the photo [pixels]",
        "height": "height of the photo [pixels]",
        "bytes_file": "size of the photo's file",  # of older runs
        "bytes_before": "size as PNG with all colours",
        "bytes_after": "size as PNG with few colours",
    },
    scaling=Scaling(rate="points_per_second", unit="points/s", total="points", live="total points/s"),
    tuning=Tuning(
        short={"iterations": 200, "tolerance": 0.0, "init": "random"},
        length="iterations",
        seconds="fit",
        load={"data": "blobs", "clusters": 100},
        knobs={"backend": ("numba", "numpy", "daal4py")},
        missing="workshop.mpi.daal:missing",
        usable="workshop.mpi.daal:usable",
    ),
    compile="workshop.workloads.kmeans.lloyd:compile_kernels",
    order=100,  # it answers at once, with a picture
    lab="kmeans",
    prediction=RunPrediction("iterations", "After how many iterations does it end?", "iterations"),
    panels="workshop.workloads.kmeans.panels:PANELS",
    star="photo",
    presets=(
        Preset("Watch it converge", "The palette settles from iteration to iteration.", {"clusters": 8, "pace": 0.5}),
        Preset(
            "Two ranks against one",
            "Run it on two ranks, then on one, and compare the throughput.",
            {"data": "blobs", "points": 1_000_000, "iterations": 30, "tolerance": 0, "pace": 0},
            {"ranks": 2, "threads": 1},
        ),
        Preset(
            "Oversubscribe",
            "Twice as many ranks as cores: they take turns, and each waits for the others.",
            {"data": "blobs", "points": 1_000_000, "iterations": 30, "tolerance": 0, "pace": 0},
            {"bind_to": "none", "oversubscribe": True, "threads": 1},
            per_core=2,
        ),
        Preset("A stream of points", "Every point is seen once.", {"data": "blobs", "mode": "online", "pace": 0.1}),
    ),
    failures="workshop.workloads.kmeans.failures:failures",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
