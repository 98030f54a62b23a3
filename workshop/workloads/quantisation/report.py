"""The facts of the verdict on number formats, and cards: a table, a layer's weights, and sums that overflow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop.core.words import quantity, size
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, percent
from workshop.report.cards import Card, figure, line, paragraph, table
from workshop.report.figures import marks, theme
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.quantisation import ARTIFACT, FORMATS, INSTRUCTIONS

HEADINGS = ("Format", "Weights", "Activations", "Sums", "Accuracy", "Same class as FP32", "Mean error", "Largest error",
            "Size", "Images/s")  # fmt: skip
ABOUT = (
    "Errors are differences of the network's outputs from those of FP32. FP16 and BF16 are for the weights alone, and "
    "TensorFlow Lite computes in FP32. It has no BF16: weights are rounded, and the size is that of FP16. Its "
    "kernels for INT16 are slow."
)
WEIGHTS = (
    "Lowest to highest weight of each channel of the first convolution, in steps of INT8 per tensor (-127 to 127)."
)
ROUNDING = "The largest rounding error of a weight in each channel. It is at most half a step, the dashed line."
SUMS = "The first dense layer adds up products of INT8. Sums that don't fit wrap around, and the result is wrong."


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """INT8 per channel and FP32, and the names of the processor's INT8 instructions; nothing before the end."""
    metrics = facts.metrics
    if "formats" not in metrics:
        return {}
    instructions = [INSTRUCTIONS[flag] for flag in metrics["instructions"]]
    return {"narrow": metrics["formats"]["int8"], "exact": metrics["formats"]["fp32"], "instructions": instructions}


def table_of_formats(snapshot: Snapshot) -> list[Card]:
    """A table of the formats, their meaning and their measured figures; nothing before the end."""
    rows = []
    for name, row in (snapshot.metric("formats", Mapping) or {}).items():
        accuracy, speed = row["accuracy"], row["images_per_second"]
        shares = ["not trained" if accuracy is None else percent(accuracy), percent(row["agreement"])]
        errors = [quantity(row["mean_error"]), quantity(row["error"])]
        rows.append(
            [*FORMATS[name][:4], *shares, *errors, size(row["bytes"]), quantity(speed) if speed else "not measured"]
        )
    return [Card("formats", "By format", (table(HEADINGS, rows), paragraph(line(ABOUT, tone="about"))))] if rows else []


def layers(snapshot: Snapshot) -> list[Card]:
    """A layer's ranges and rounding errors, and a sum that overflows; nothing without INT8."""
    if ARTIFACT not in snapshot.artifacts:
        return []
    layer = json.loads(snapshot.read(ARTIFACT))
    exact, sums = layer["overflow"]["exact"], layer["overflow"]["sums"]
    results = table(("Added up in", "Result", "Exact"), [[name, f"{sums[name][-1]:,}", f"{exact:,}"] for name in sums])
    weights, rounding = weights_figure(layer["ranges"]), rounding_figure(layer["ranges"])
    lines = [paragraph(line(text, tone="about")) for text in (WEIGHTS, ROUNDING, SUMS)]
    return [
        Card("weights", "Ranges of weights", (lines[0], figure(weights)), half=True),
        Card("rounding", "Rounding of weights", (lines[1], figure(rounding)), half=True),
        Card("sums", "Sums of INT8 products", (lines[2], figure(sums_figure(sums)), results)),
    ]


def weights_figure(ranges: Mapping[str, Any]) -> Any:
    step = ranges["int8-tensor"]["scales"][0]
    low, high = ([value / step for value in ranges[end]] for end in ("low", "high"))
    heights = [most - least for least, most in zip(low, high, strict=True)]
    hover = "channel %{x}: %{base:.1f} and %{y:.1f} more<extra></extra>"
    bars = marks.bars(heights, list(range(len(low))), theme.ACCENT, hover, upright=True, base=low)
    figure = _by("channel", "steps of INT8", [bars])
    return figure.update_yaxes(range=[-132, 132], tickvals=list(range(-128, 129, 32)))


def rounding_figure(ranges: Mapping[str, Any]) -> Any:
    traces, step = [], ranges["int8-tensor"]["scales"][0]
    for name, colour in (("int8-tensor", theme.OTHER), ("int8", theme.ACCENT)):
        errors, steps = ([value / step for value in ranges[name][part]] for part in ("errors", "scales"))
        channels, title = list(range(len(errors))), FORMATS[name][0]
        traces.append(marks.points(channels, errors, colour, f"{title}: %{{y:,.7~r}}<extra></extra>", name=title))
        traces.append(
            marks.line(
                channels, [each / 2 for each in steps], colour, "", line={"width": 1, "dash": "dash"}, showlegend=False
            )
        )
    return _by("channel", "error in steps per tensor", traces)


def sums_figure(sums: Mapping[str, list[int]]) -> Any:
    traces = []
    for number, (name, values) in enumerate(sums.items()):
        hover, colour = f"{name}: %{{y:,}}<extra></extra>", theme.rank_colour(number)
        traces.append(marks.line(list(range(1, len(values) + 1)), values, colour, hover, line={"width": 2}, name=name))
    return _by("products added up", "sum", traces)


def _by(along: str, title: str, traces: list[Any]) -> Any:
    axes = {"xaxis": {"title": {"text": along}}, "yaxis": {"title": {"text": title}}}
    return theme.figure(traces, height=340, showlegend=len(traces) > 1, **axes)


PANELS = (
    Panel("formats", table_of_formats, lambda snapshot: snapshot.run.metrics, comparison=table_of_formats),
    Panel("layers", layers, lambda snapshot: snapshot.version(ARTIFACT), comparison=layers),
)
