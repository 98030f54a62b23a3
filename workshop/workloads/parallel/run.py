"""The workload: what a rank does to train its part, and to compare the result with one process and with formulas."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from workshop.engine.context import RankContext
from workshop.workloads.parallel import ParallelParams, schedules, settings
from workshop.workloads.parallel.cuts import experts
from workshop.workloads.parallel.schedules import StageSpan, idle_share
from workshop.workloads.parallel.settings import batch
from workshop.workloads.parallel.training import CutTraining, worst_difference

KIB = 1024


def run(ctx: RankContext, params: ParallelParams) -> Mapping[str, Any]:
    """Train with a cut. Collective.

    Events: `loss` of each step, from rank 0; the time of each step by phase from each rank.

    Metrics, lists with a value for each rank: `memory_planned` and `memory_counted` in bytes by use, `memory_peak` of
    the process in bytes, `traffic` by the formulas as [calls, bytes] of one step by axis and kind, `rank_seconds` of
    work on one micro-batch. `pipeline` has the ranks of the first pipeline, by stage. `weights_difference` from one
    process, relative; None where it wasn't verified. `idle` and `expected_idle`: shares of the pipeline's time in the
    last step, None without stages; the prediction takes the measured seconds of each kind of work.
    """
    cut = settings.cut_of(params, ctx.size)
    ctx.activity("building the network")
    training = settings.training(params, cut, ctx.comm)
    losses, seconds = [], []
    ctx.activity("training")
    with _threads():
        for step in range(params.steps):
            inputs, targets = batch(params, step)
            training.stage.observe = step == 0
            ctx.comm.Barrier()
            began, exchange = time.perf_counter(), training.traffic.seconds
            losses.append(training.step(inputs, targets))
            seconds.append(time.perf_counter() - began)
            _account(ctx, training, seconds[-1], training.traffic.seconds - exchange, step)
            if ctx.rank == 0:
                ctx.emit("loss", losses[-1], step)
            ctx.progress(step + 1, params.steps * (2 if params.verify else 1))
            if ctx.stop_requested():
                break
        steps, traffic = len(losses), training.traffic
        expected = training.expected_traffic() * steps
        spans = dict(enumerate(ctx.comm.allgather(training.stage.spans)))
        held_out = training.evaluate(*batch(params, 0, held_out=True))
        began = time.perf_counter()
        difference = _verify(ctx, params, training, steps) if params.verify and steps == params.steps else None
        verified = time.perf_counter() - began
    of_ranks = ctx.comm.allgather(
        {
            "memory_planned": training.planned_memory().as_json(),
            "memory_counted": training.counted_memory().as_json(),
            "memory_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB,
            "traffic": training.expected_traffic().as_json(),
            "bytes": (traffic.total, expected.total),
            "bytes_difference": _difference(traffic.bytes, expected.bytes),
            "calls_difference": _difference(traffic.calls, expected.calls),
            "dropped": experts.dropped(training.stage.layers),
            "parameters": sum(parameter.size for parameter in training.parameters),
            "rank_seconds": sum(schedules.measured_seconds(spans[ctx.rank]).values()) / cut.layout.replicas,
        }
    )
    if ctx.rank == 0:
        ctx.artifact(schedules.FILE, schedules.write(spans), "application/json")
    counted, by_formula = (sum(rank["bytes"][number] for rank in of_ranks) for number in (0, 1))
    return {
        "grid": str(cut.grid),
        "pipeline": cut.grid.first_pipeline,
        "rate": params.batch / statistics.median(seconds[1:] or seconds),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "held_out_loss": held_out,
        "weights_difference": difference,
        "bytes_per_step": counted / steps,
        "bytes_expected": by_formula / steps,
        **{name: sum(rank[name] for rank in of_ranks) for name in ("bytes_difference", "calls_difference", "dropped")},
        **_bubble(training, spans),
        **{
            name: [rank[name] for rank in of_ranks]
            for name in ("memory_planned", "memory_counted", "memory_peak", "traffic", "rank_seconds")
        },
        "parameters": max(rank["parameters"] for rank in of_ranks),
        "paced": bool(cut.pace),
        "seconds": {"train": sum(seconds), "verify": verified},
        "stopped": steps < params.steps,
    }


def _difference(counted: Mapping[Any, int], expected: Mapping[Any, int]) -> int:
    """How far counts are from the expected ones, kind by kind."""
    return sum(abs(counted.get(key, 0) - expected.get(key, 0)) for key in counted.keys() | expected.keys())


def _threads() -> AbstractContextManager[Any]:
    """NumPy's threads, as the placement says; one where it says nothing, since ranks are what is studied here."""
    return nullcontext() if os.environ.get("OMP_NUM_THREADS") else threadpool_limits(1)


def _account(ctx: RankContext, training: CutTraining, seconds: float, exchange: float, step: int) -> None:
    """Tell the time of a step by phase: collectives, waits for other stages and for the end of the step, the rest."""
    receives = sum(span.end - span.begin for span in training.stage.spans if span.instruction.kind == "receive")
    wait = receives + training.waited
    at = time.time()
    ctx.account("communicate", exchange, step, at)
    ctx.account("wait", wait, step, at)
    ctx.account("compute", max(seconds - exchange - wait, 0.0), step, at)


def _verify(ctx: RankContext, params: ParallelParams, training: CutTraining, steps: int) -> float:
    """The largest relative difference of a weight from a training in one process. Collective."""
    from mpi4py import MPI

    ctx.activity("training in one process")
    single = settings.training(params, settings.ALONE, MPI.COMM_SELF)
    for step in range(steps):
        single.step(*batch(params, step))
        ctx.progress(steps + step + 1, 2 * steps)
    return float(ctx.comm.allreduce(worst_difference(training, single), op=MPI.MAX))


def _bubble(training: CutTraining, spans: Mapping[int, list[StageSpan]]) -> dict[str, float | None]:
    """The idle share of the first pipeline in the last step, and its prediction."""
    stages = training.cut.grid.pipeline
    if stages == 1:
        return {"idle": None, "expected_idle": None}
    of_pipeline = [span for rank in training.cut.grid.first_pipeline for span in spans[rank]]
    planned = schedules.predicted(training.streams, schedules.measured_seconds(of_pipeline))
    return {"idle": idle_share(of_pipeline, stages), "expected_idle": idle_share(planned, stages)}
