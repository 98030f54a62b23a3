"""The workload: what a rank does in a run of k-means, from the data to the metrics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data import shard
from workshop.workloads.kmeans import KMeansParams, daal, photo
from workshop.workloads.kmeans.data import Blobs, Pixels, Source
from workshop.workloads.kmeans.lloyd import (
    LloydStep,
    Shard,
    centre,
    compile_for,
    inertia_of,
    kernel,
    lloyd,
    mean_variance,
    online,
    plus_plus,
    random_points,
)
from workshop.workloads.kmeans.numpy_kernel import Floats, nearest

MOST_NUMBERS = 4096  # numbers of centroids that metrics carry
AT_ONCE = 262_144  # points that a rank labels at once where it doesn't keep them
NAP = 0.2  # seconds of a pause without asking whether to stop


def run(ctx: RankContext, params: KMeansParams) -> Mapping[str, Any]:
    """Cluster the points over all ranks and tell what came out. Collective.

    Events: `inertia`, `moved` (centroids that moved) and `total points/s` per iteration from rank 0, with bounds the
    share of `distances computed`; every rank's `time.*`. Artifacts of a photo, from rank 0: original.png,
    quantised.png, and preview.png in every iteration of a paced run.
    """
    seconds: dict[str, float] = {}
    picture = photo.pixels(ctx.inputs["photo"]) if params.data == "photo" else None
    source = _source(params, picture)
    shards = kernel(params.backend, params.algorithm)
    batch = params.mode == "batch"
    first_points = source.size if batch else min(params.batch, source.size)  # a stream starts from its first batch

    with ctx.timed("prepare", seconds):
        ctx.activity("loading the kernel, which is compiled the first time: up to a minute")
        ctx.rank_0_first(lambda: compile_for(shards, np.zeros((1, source.features), params.dtype)))
        begin, end = shard(first_points, ctx.size, ctx.rank)
        ctx.activity("reading data")
        points = source.read(begin, end)
        together = params.clusters if batch else 0
        library = daal.load(ctx, len(points), together) if params.backend == "daal4py" else None
    ctx.activity("choosing the first centroids")
    with ctx.timed("initialise", seconds):
        middle = centre(ctx.comm, points)
        own_shard = shards(points, middle)
        relative = points - middle if library and batch else None
        del points  # the kernel has its own copy
        if params.init == "k-means++":
            centroids = plus_plus(ctx.comm, own_shard, params.clusters, params.seed, ctx.stop_requested)
        else:
            centroids = random_points(ctx.comm, own_shard, params.clusters, params.seed)
        tolerance = params.tolerance * mean_variance(ctx.comm, own_shard)
    ctx.end_step(0)
    ctx.activity("computing")

    if relative is not None:
        steps, most = daal.lloyd(library, ctx, relative, centroids, tolerance), params.iterations
    elif batch:
        steps, most = lloyd(ctx, own_shard, centroids, tolerance), params.iterations
    else:
        steps = online(ctx, daal.DaalShard if library else shards, source, params.batch, middle, centroids)
        most = -(-source.size // params.batch)
    preview = _preview(ctx, picture, middle) if params.pace and picture is not None else None
    visited = source.size if batch else min(params.batch, source.size)  # points of an iteration
    unit = source.unit
    steps = (replace(step, inertia=step.inertia * unit**2) for step in steps)
    step, stopped, seconds["fit"], share = _iterate(ctx, steps, most, visited, params.pace, preview)

    inertia, sizes, labels = step.inertia, None, None
    if not stopped:
        if batch:
            pieces: Iterator[Shard] = iter([own_shard])
        else:
            source = _source(params, picture, shuffled=False)
            pieces = _pieces(ctx, shards, source, middle)
        ctx.activity("labelling all points")
        with ctx.timed("predict", seconds):
            inertia, sizes, labels = _predict(ctx, pieces, step.centroids, unit, keep=picture is not None)
        ctx.end_step(step.number + 1)
    centroids_in_units = ((step.centroids + middle) * unit).astype(np.float64)
    visits = source.size * step.number if batch else min(params.batch * step.number, source.size)
    numbers = params.clusters * (source.features + 1) + 3  # of an iteration's all-reduce, see `lloyd.assign`
    metrics = {
        "inertia": inertia,
        "iterations": step.number,
        "converged": step.converged,
        "stopped": stopped,
        "points": source.size,
        "points_per_second": round(visits / seconds["fit"]),
        "features": source.features,
        "points_per_rank": [end - begin for begin, end in (shard(source.size, ctx.size, r) for r in range(ctx.size))],
        "clusters": params.clusters,
        "sizes": sizes,
        "centroids": centroids_in_units.tolist() if centroids_in_units.size <= MOST_NUMBERS else None,
        "backend": params.backend,
        "distances_share": share,
        **({} if library and batch else {"bytes_per_step": 8 * numbers, "messages_per_step": 1}),
        "seconds": {name: round(value, 6) for name, value in seconds.items()},
    }
    if picture is not None and labels is not None:
        metrics |= _picture(ctx, picture, labels, _colours(centroids_in_units))
    return metrics


def _source(params: KMeansParams, picture: NDArray[np.uint8] | None, shuffled: bool = True) -> Source:
    """The points; a photo's as a stream come in random order, or the sky would come first."""
    if picture is None:
        return Blobs(params.points, params.features, params.clusters, params.seed, params.dtype)
    return Pixels(picture, params.dtype, params.seed if shuffled and params.mode == "online" else None)


def _iterate(
    ctx: RankContext,
    steps: Iterator[LloydStep],
    most: int,
    points: int,
    pace: float,
    preview: Callable[[LloydStep], None] | None,
) -> tuple[LloydStep, bool, float, float | None]:
    """Go through at most `most` steps, each of so many points. Returns the last one, whether a stop was asked for, the
    seconds that the steps took without pauses and previews, and the share of distances that were computed."""
    seconds, distances = 0.0, 0.0
    while True:
        began = time.perf_counter()
        step = next(steps)
        took = time.perf_counter() - began
        seconds += took
        distances += step.distances or 0.0
        ctx.end_step(step.number)
        if ctx.rank == 0:
            ctx.emit("inertia", step.inertia, step.number)
            ctx.emit("moved", step.moved, step.number)
            if step.distances is not None and distances < step.number:  # bounds have left some out
                ctx.emit("distances computed", step.distances, step.number)
            ctx.emit("total points/s", points / max(took, 1e-9), step.number)
        ctx.progress(step.number, most)
        if preview is not None:
            preview(step)
        stopped = _pause(ctx, began + pace) if pace else ctx.stop_requested()
        if stopped or step.converged or step.number == most:
            if not stopped:
                ctx.progress(step.number, step.number)
            return step, stopped, seconds, None if step.distances is None else distances / step.number


def _pause(ctx: RankContext, until: float) -> bool:
    """Sleep until a time of rank 0's clock; returns early, and True, when a stop is asked for."""
    for _ in range(ctx.comm.bcast(math.ceil((until - time.perf_counter()) / NAP))):
        if ctx.stop_requested():
            return True
        time.sleep(min(NAP, max(until - time.perf_counter(), 0)))
    return ctx.stop_requested()


def _pieces(ctx: RankContext, shards: type[Shard], source: Source, middle: Floats) -> Iterator[Shard]:
    """This rank's points of a source, read again piece by piece."""
    begin, end = shard(source.size, ctx.size, ctx.rank)
    for first in range(begin, end, AT_ONCE):
        yield shards(source.read(first, min(first + AT_ONCE, end)), middle)


def _predict(
    ctx: RankContext, pieces: Iterator[Shard], centroids: Floats, unit: float, keep: bool
) -> tuple[float, list[int], NDArray[np.int32] | None]:
    """Assign all points to fixed centroids: inertia, points of each cluster, and all labels on rank 0 if kept.
    Centroids are in multiples of `unit`, inertia is not."""
    buffer = np.zeros(len(centroids) + 1)
    labels = [np.empty(0, np.int32)]
    for piece in pieces:
        piece.update(centroids)
        buffer[0] += inertia_of(piece, centroids)
        buffer[1:] += piece.counts
        if keep:
            labels.append(piece.labels)
    ctx.comm.Allreduce(MPI.IN_PLACE, buffer)
    gathered = ctx.comm.gather(np.concatenate(labels)) if keep else None
    return (
        max(float(buffer[0]) * unit**2, 0.0),
        buffer[1:].astype(int).tolist(),
        np.concatenate(gathered) if gathered else None,
    )


def _colours(centroids: Floats) -> NDArray[np.uint8]:
    """Centroids in colour space, 0 to 1, as bytes."""
    return np.clip(np.rint(centroids * 255), 0, 255).astype(np.uint8)


def _preview(ctx: RankContext, picture: NDArray[np.uint8], middle: Floats) -> Callable[[LloydStep], None]:
    """The picture of a step in a paced run: rank 0 paints a small copy of the photo with the present palette."""
    small = photo.smaller(picture)
    points = small.reshape(-1, 3) - middle

    def show(step: LloydStep) -> None:
        if ctx.rank == 0:
            labels = nearest(points, step.centroids).reshape(small.shape[:2])
            image = photo.encode_quantised(labels, _colours((step.centroids + middle) * Pixels.unit))
            ctx.artifact("preview.png", image, "image/png")

    return show


def _picture(
    ctx: RankContext, picture: NDArray[np.uint8], labels: NDArray[np.int32], palette: NDArray[np.uint8]
) -> dict[str, Any]:
    """Rank 0 keeps the photo before and after, and tells the palette and both sizes in bytes."""
    before = photo.encode(picture)
    after = photo.encode_quantised(labels.reshape(picture.shape[:2]), palette)
    ctx.artifact("original.png", before, "image/png")
    ctx.artifact("quantised.png", after, "image/png")
    return {
        "palette": ["#" + colour.tobytes().hex() for colour in palette],
        "width": picture.shape[1],
        "height": picture.shape[0],
        "bytes_before": len(before),  # as PNG with all its colours
        "bytes_after": len(after),  # as PNG with the palette's
    }
