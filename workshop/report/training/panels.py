"""A training run's cards and figures beside its curves: conditions, speed, waiting, and wrongly classified images."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.words import size
from workshop.report.analysis import findings
from workshop.report.cards import Card, Part, about, figure, line, paragraph, picture, pictures, table, tiles
from workshop.report.figures import marks, theme
from workshop.report.figures.bars import rings
from workshop.report.figures.stream import timeline as drawn
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training.facts import evaluation_share, waiting
from workshop.report.training.facts import spent as time_spent

TIMELINE = "timeline.json"
MISREAD = "misclassified"  # a metric, and the panel
MISCLASSIFIED = f"{MISREAD}.json"
AUTOTUNE = "horovod-autotune.csv"
SAME = 0.005  # share of the total by which the ranks' images/s may add up to more without a word on it
ADD_UP = (
    "The ranks' figures add up to more than that of all ranks. A rank's figure counts the time of its steps only; the "
    "figure of all ranks counts the time between steps, too."
)


def conditions(snapshot: Snapshot) -> list[Card]:
    """The training data and the exchange of gradients, with the meaning of `auto` in this run."""
    lines = []
    if data := snapshot.metric("data", str):
        held_out = snapshot.metric("held_out_images", int)
        rest = "" if held_out is None else f"; {words.count(held_out, 'image')} held out"
        lines.append(line(f"{data}{rest}.", "Data"))
    if exchange := snapshot.metric("exchange", str):
        why = snapshot.metric("exchange_why", str)
        lines.append(line(f"{exchange}{f': {why}' if why else ''}", "Exchange"))
    resumed = snapshot.metric("resumed", Mapping)
    if resumed and {"epoch", "update"} <= resumed.keys():
        lines.append(line(f"went on after epoch {resumed['epoch']}, step {resumed['update']}.", "Resumed"))
    return [Card("conditions", "", (paragraph(*lines),))] if lines else []


def throughput(snapshot: Snapshot) -> list[Card]:
    """Images a second over all ranks, a bar for each rank, and the other metrics of each rank."""
    mean = snapshot.metric("images_per_second", int | float)
    if mean is None:
        return []
    unit = "images/s"
    values = [{"label": "all ranks", "value": words.quantity(mean, unit), "exact": words.exact(mean, unit)}]
    for name, label, sign in (("deviation", "deviation of the mean", "± "), ("jitter", "jitter of the steps", "")):
        value = snapshot.metric(f"images_per_second_{name}", int | float)
        if value is not None:
            values.append(
                {"label": label, "value": sign + words.quantity(value, unit), "exact": words.exact(value, unit)}
            )
    steps = snapshot.metric("measured_steps", int)
    if steps is not None:
        values.append({"label": "measured over", "value": words.count(steps, "step")})
    parts = [tiles(values), figure(rank_throughput(snapshot.run.metrics))]
    each = snapshot.metric("images_per_second_ranks", list) or []
    if sum(each) > (1 + SAME) * mean:
        parts.append(about(ADD_UP))
    return [Card("throughput", "Throughput", (*parts, *_by_rank(snapshot)))]


# Lists of metrics that have a value for each rank: heading, and how a value reads.
_COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "images_per_second_ranks_jitter": ("Jitter", lambda value: words.quantity(value, "images/s")),
    "shards": ("Images", words.quantity),
    "held_out_accuracy_ranks": (
        "Held-out accuracy",
        lambda value: findings.percent(value) if math.isfinite(value) else "–",
    ),
    "last": ("Came last", lambda value: words.count(value, "time")),
    "late_by": ("then late by", words.seconds),
    "memory": ("Memory", size),
}


def _by_rank(snapshot: Snapshot) -> list[Part]:
    ranks = snapshot.ranks
    alone = ranks == 1 or snapshot.metric("exchange", str) == "none"  # nobody comes last
    columns: dict[str, list[str]] = {
        heading: [word(value) for value in values_of_ranks]
        for name, (heading, word) in _COLUMNS.items()
        if (values_of_ranks := snapshot.metric(name, list))
        and len(values_of_ranks) == ranks
        and not (alone and name in ("last", "late_by"))
    }
    if weights := snapshot.metric("weights", list):
        columns["Weights"] = _letters(weights)
    rows: list[Sequence[str | Mapping[str, Any]]] = [
        [rank_cell(rank), *(values[rank] for values in columns.values())] for rank in range(ranks)
    ]
    return [table(["Rank", *columns], rows)] if columns else []


def _letters(hashes: Sequence[str]) -> list[str]:
    """Equal weights have the same letter, which is more to the point than their hashes."""
    distinct = list(dict.fromkeys(hashes))
    return [f"set {distinct.index(each) + 1}" if len(distinct) > 1 else "the same" for each in hashes]


def spent(snapshot: Snapshot) -> list[Card]:
    """On what the whole run spent its time, once it is over."""
    parts = time_spent(snapshot.run) if snapshot.run.ended else {}
    if not parts:
        return []
    notes = []
    if share := evaluation_share(snapshot.run):
        notes.append(about(f"Of the time of training and evaluation together, evaluation took {words.percent(share)}."))
    return [Card("spent", "What the time went into", (*notes, figure(rings({"": parts}))), half=True)]


def timeline(snapshot: Snapshot) -> list[Card]:
    """Which ranks waited for which, in a sentence and in a picture of all ranks."""
    if TIMELINE not in snapshot.artifacts:
        return []
    trace = json.loads(snapshot.read(TIMELINE))
    waits = waiting(snapshot.run)
    parts = [*([paragraph(line(waits.sentence))] if waits else []), figure(drawn(trace))]
    return [Card("timeline", "Who waited for whom", tuple(parts))]


def autotune(snapshot: Snapshot) -> list[Card]:
    """The settings that Horovod tried out on its own, with the speed of each."""
    if AUTOTUNE not in snapshot.artifacts:
        return []
    tries = csv.DictReader(io.StringIO(snapshot.read(AUTOTUNE).decode()))
    keys = ("cycle_time_ms", "tensor_fusion_threshold", "score")
    rows = [[words.quantity(float(attempt[key])) for key in keys] for attempt in tries]
    if not rows:
        return []
    fastest = max(rows, key=lambda row: float(row[2]))
    sentence = (
        f"Horovod tried {words.count(len(rows), 'setting')}. The fastest looked for gradients every {fastest[0]} ms "
        f"and put up to {fastest[1]} MB into one message."
    )
    heading = ["Cycle [ms]", "Fusion threshold [MB]", "Gradients [MB/s]"]
    return [Card("autotune", "What Horovod tried", (paragraph(line(sentence)), table(heading, rows)), half=True)]


def misclassified(snapshot: Snapshot) -> list[Card]:
    """Held-out images that the network reads as something else."""
    if MISCLASSIFIED not in snapshot.artifacts:
        return []
    images: list[Mapping[str, Any]] = json.loads(snapshot.read(MISCLASSIFIED))
    count, total = snapshot.metric(MISREAD, int), snapshot.metric("held_out_images", int)
    lines = []
    if count == 0:
        lines.append(line("No held-out image was misread."))
    elif count is not None and total is not None:
        more = f"; these are {len(images)} of them" if count > len(images) > 0 else ""
        lines.append(line(f"{words.quantity(count)} of {words.quantity(total)} held-out images were misread{more}."))
    pictures_shown = [picture(f"data:image/png;base64,{image['png']}", _reading(image)) for image in images]
    parts = [
        *([paragraph(*lines)] if lines else []),
        *([pictures(pictures_shown, small=True)] if pictures_shown else []),
    ]
    return [Card(MISREAD, "Misread digits", tuple(parts))]


def confusion(snapshot: Snapshot) -> list[Card]:
    """How often each digit was read as which, and the commonest mistake as a sentence."""
    counts = snapshot.metric("confusion", list)
    if not counts:
        return []
    wrong = {(label, read): counts[label][read] for label in range(10) for read in range(10) if label != read}
    (label, read), most = max(wrong.items(), key=lambda mistake: mistake[1])
    mistake = f"The commonest mistake is {label} read as {read}: {words.count(most, 'time')}."
    sentence = mistake if most else "No held-out image was misread."
    return [Card("confusion", "Confusion matrix", (paragraph(line(sentence)), figure(confusion_matrix(counts))))]


def _reading(image: Mapping[str, Any]) -> str:
    return f"{image['label']}, read as {image['predicted']} ({words.percent(image['probability'])})"


def _metrics(snapshot: Snapshot) -> Any:
    return snapshot.run.metrics


CONDITIONS = ("data", "held_out_images", "exchange", "exchange_why", "resumed", "threads_seconds")
SPEED = ("images_per_second", "images_per_second_deviation", "images_per_second_jitter", "measured_steps")
PANELS = (
    Panel("conditions", conditions, _metrics, comparison=conditions, metrics=CONDITIONS),
    Panel("spent", spent, lambda snapshot: (snapshot.run.status, snapshot.run.metrics), "time"),
    Panel("throughput", throughput, _metrics, "time", comparison=throughput, metrics=SPEED),
    Panel("timeline", timeline, lambda snapshot: (snapshot.version(TIMELINE), snapshot.run.metrics), "time"),
    Panel("autotune", autotune, lambda snapshot: snapshot.version(AUTOTUNE), "time"),
    Panel("confusion", confusion, _metrics, "learning", metrics=("confusion",)),
    Panel(MISREAD, misclassified, lambda snapshot: snapshot.version(MISCLASSIFIED), "learning", metrics=(MISREAD,)),
)


TOTAL = "all ranks"
CELL = 32  # pixels of a row of the confusion matrix


def rank_throughput(metrics: Mapping[str, Any]) -> go.Figure:
    """A bar for each rank and one for all, in images/s, with deviations. A rank's figure counts its time within steps,
    the total's all time of training; so the ranks' may add up to more."""
    each = metrics.get("images_per_second_ranks") or []
    total, deviation = metrics.get("images_per_second"), metrics.get("images_per_second_deviation")
    if not each or not isinstance(total, int | float):
        return theme.nothing_yet("No images/s were measured")
    spread = deviation if findings.number(deviation) else 0.0
    spreads = [*(metrics.get("images_per_second_ranks_deviation") or [0.0] * len(each)), spread]
    names = [*(f"rank {rank}" for rank in range(len(each))), TOTAL]
    values = [*each, total]
    colours = [*(theme.rank_colour(rank) for rank in range(len(each))), theme.ACCENT]
    labels = [
        f"{words.quantity(value)} ± {words.quantity(around)}" if around else words.quantity(value)
        for value, around in zip(values, spreads, strict=True)
    ]
    bar = marks.bars(
        values,
        names,
        colours,
        [f"{name}: {text} images/s" for name, text in zip(names, labels, strict=True)],
        [f"<b>{text}</b>" if name == TOTAL else text for name, text in zip(names, labels, strict=True)],
        error_x=marks.whiskers(spreads, theme.INK),
    )
    return theme.figure(
        [bar],
        bargap=0.3,
        height=max(200, min(90 + 42 * len(names), 640)),
        showlegend=False,
        xaxis={"title": {"text": "images/s"}, "nticks": 6, "rangemode": "tozero", "tickformat": "~s"},
        yaxis=marks.CATEGORIES,
    )


def confusion_matrix(counts: Sequence[Sequence[int]]) -> go.Figure:
    """How often each class was read as which, from counts [classes][classes]: the true class down, the answer across.
    Only mistakes are coloured: the right answers are many times as frequent, and would hide them."""
    classes = [str(number) for number in range(len(counts))]
    mistakes = [[0 if row == column else count for column, count in enumerate(line)] for row, line in enumerate(counts)]
    most = max(max(row) for row in mistakes) or 1
    heatmap = marks.cells(
        mistakes,
        classes,
        classes,
        (0, most),
        [[str(count) if count else "" for count in line] for line in counts],
        "%{y}, read as %{x}: %{text}<extra></extra>",
        colorscale=[[0, theme.PANEL], [1, theme.RANKS[1]]],
    )
    return theme.figure(
        [heatmap],
        height=100 + CELL * len(classes),
        showlegend=False,
        hovermode="closest",
        xaxis={"title": {"text": "read as"}, "type": "category", "showgrid": False},
        yaxis={"title": {"text": "digit"}, "type": "category", "autorange": "reversed", "showgrid": False},
    )
