"""The facts of a processor's verdict, and the card that shows which of oneDNN's primitives took the time of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.cards import Card, figure, line, table
from workshop.report.cards import paragraph as sentences
from workshop.report.figures.bars import settings
from workshop.report.figures.marks import Point
from workshop.report.snapshot import Panel, Snapshot

DEFAULT, OPTIMISED = 3.84, 17.69  # published images/s
SOURCE = "Deep Learning at Scale Using Distributed Frameworks, Fabio Baruffa, Intel, 2019"
CITED = (
    f"Published for ResNet-50 with batch 16: {DEFAULT} images/s with the default build of TensorFlow, {OPTIMISED} with "
    f"the optimised one, {OPTIMISED / DEFAULT:.2f} times as many ({SOURCE})."
)
GEMM = "gemm_api"  # oneDNN's matrix product, which TensorFlow's own kernels call, too
LEAST_SHARE = 0.02  # share of a step below which a sentence names no primitive
LISTED = 3  # implementations of a kind in the table


def times(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The seconds of a step by kind of primitive, the slowest first, then of everything else. Empty without a log."""
    kernels = metrics.get("kernels")
    if not kernels:
        return {}
    seconds = {kind: float(of_kind["seconds"]) for kind, of_kind in kernels.items()}
    rest = metrics["step_seconds"] - sum(seconds.values())
    return seconds | ({"not in oneDNN's log": rest} if rest > 0 else {})


def spent(metrics: Mapping[str, Any]) -> str:
    """Which kinds of primitives took a step's time, in a sentence; "" without a log."""
    kernels, step_seconds = times(metrics), metrics.get("step_seconds")
    if not kernels or not step_seconds:
        return ""
    parts = [
        f"{kind} {words.percent(seconds / step_seconds)}"
        for kind, seconds in kernels.items()
        if seconds > LEAST_SHARE * step_seconds
    ]
    together = " Some of these ran at the same time." if sum(kernels.values()) > 1.01 * step_seconds else ""
    return f"A step of {words.seconds(step_seconds)} went to: {', '.join(parts)}.{together}"


def bars(metrics: Mapping[str, Any]) -> go.Figure:
    """A bar for each kind of primitive, with its milliseconds of a step."""
    return settings([Point(kind, (1000 * seconds,)) for kind, seconds in times(metrics).items()], "ms of a step")


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """Where the time went, and what the processor has, in sentences that the study's guide uses, too."""
    metrics, params = facts.metrics, facts.run.params
    kernels = remark(params, metrics)
    return {"spent": spent(metrics), "kernels": kernels, "instructions": instructions(metrics), "cited": CITED}


def instructions(metrics: Mapping[str, Any]) -> str:
    """The processor's instruction sets, in a sentence."""
    return (
        f"The processor has {words.listed(metrics.get('instructions') or ['none of the usual vector instructions'])}."
    )


def remark(params: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Why oneDNN's kernels did not compute, or not in this precision, in a sentence; "" where they did."""
    precision = params.get("precision", "float32")
    if not params.get("onednn", True):
        return "TensorFlow's own kernels did the convolutions, and called oneDNN for matrix products at most."
    if not metrics.get("native", True):
        return (
            f"oneDNN has no {precision} kernels for this processor, so TensorFlow's own kernels did the convolutions."
        )
    if not metrics.get("fast", True):
        return f"The processor has no instructions for {precision}, so oneDNN converts it to float32 and back."
    return ""


def primitives(snapshot: Snapshot) -> list[Card]:
    """The bars and the table of primitives, with the published rates."""
    metrics = snapshot.run.metrics
    kernels = metrics.get("kernels")
    cited = sentences(line(CITED, tone="about"))
    if not times(metrics) or not kernels:
        return [Card("primitives", "Published", (cited,))] if number(metrics.get("images_per_second")) else []
    rows = [
        [
            "matrix product (gemm_api)" if kind == GEMM else kind,
            f"{of_kind['calls']:.0f}",
            words.seconds(of_kind["seconds"]),
            ", ".join(filter(None, of_kind["implementations"][:LISTED])) or "not in the log",
        ]
        for kind, of_kind in kernels.items()
    ]
    title = "What oneDNN did in a step"
    heads = ["Primitive", "calls of a step", "their time", "slowest implementations"]
    return [Card("primitives", title, (figure(bars(metrics)), table(heads, rows), cited))]


PANELS = (
    Panel(
        "primitives",
        primitives,
        lambda snapshot: snapshot.run.status,
        comparison=primitives,
        metrics=("kernels", "types", "layouts", "instructions"),
    ),
)
