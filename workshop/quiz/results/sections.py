"""Sections of the class report: tables, questions in figures, and two rounds side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from workshop.core import words as say
from workshop.quiz import rendering
from workshop.quiz.results import svg
from workshop.quiz.results.answer_choices import AnswerChoice
from workshop.quiz.results.comparison import RoundComparison
from workshop.quiz.results.findings import RoundFindings
from workshop.quiz.results.items import Item
from workshop.quiz.results.record import Results

Cells = Sequence[str]  # HTML


def table(headings: Sequence[tuple[str, str]], rows: Iterable[Cells], caption: str = "") -> str:
    """Headings are text, each with the class of its column: "number", "figure", "name" (which needs no heading on a
    phone), "typed" (likewise, with text that may be long) or ""."""
    heads = "".join(f'<th class="{look}">{escape(name)}</th>' for name, look in headings)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{look}" data-heading="{escape(name)}">{cell}</td>'
            for (name, look), cell in zip(headings, cells, strict=True)
        )
        + "</tr>"
        for cells in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def name(text: str) -> str:
    """What somebody typed, as text: its direction is its own and doesn't turn what stands around it."""
    return f"<bdi>{escape(text)}</bdi>"


def overview(found: RoundFindings) -> str:
    """A line for each question: how many had it right, how long it took, whom it told apart."""
    if not found.items:
        return ""
    rows = []
    for item in found.items:
        told = item.discrimination.value
        time = "–" if item.seconds is None else escape(say.seconds(item.seconds.median))
        text = f'<span class="quiet">{item.number}.</span> {escape(item.text)}'
        apart = "–" if told is None else f"{told:.2f}"
        rows.append((text, _share(item), f"{item.answered} of {item.there}", time, apart))
    figures = (("Answered", "number"), ("Median time", "number"), ("Discrimination", "number"))
    return f"<h2>Questions</h2>{table((('Question', 'typed'), ('Right', 'figure'), *figures), rows)}"


def _share(item: Item) -> str:
    if item.share is None or item.interval is None:
        return '<span class="quiet">nothing is right here</span>' if item.type == "poll" else "–"
    low, high = map(say.percent, item.interval)
    said = f"{say.percent(item.share)} right, 95 % interval {low} to {high}"
    return (
        f"{svg.bar(item.share, said, svg.RIGHT, item.interval)}"
        f"{say.percent(item.share)} ({item.right} of {item.judged})"
    )


def question(results: Results, item: Item) -> str:
    """One question with what was chosen, and what there is to say of it."""
    asked = results.deck.question(item.id)
    text = rendering.html(asked.text, results.numbers.get(item.id))
    figures = [f"{item.answered} of {item.there} answered"]
    if item.share is not None and item.interval is not None:
        low, high = map(say.percent, item.interval)
        figures.append(f"{say.percent(item.share)} right (95 %: {low} to {high})")
    if item.mark is not None and item.share is not None and abs(item.mark - item.share) > 0.005:
        figures.append(f"{say.percent(item.mark)} of the marks")
    if item.points is not None:
        figures.append(f"mean points {item.points:.2g} of {item.worth:.4g}")
    if item.seconds is not None:
        low, middle, high = (say.seconds(one) for one in (item.seconds.low, item.seconds.median, item.seconds.high))
        figures.append(f"median time {middle} (half between {low} and {high})")
    told = item.discrimination
    value = f"Discrimination {told.value:.2f}. " if told.value is not None else "Discrimination: "
    apart = "" if item.type == "poll" else f'<p class="quiet">{escape(value + told.words)}</p>'
    remarks = "".join(f"<li>{escape(one)}</li>" for one in item.remarks)
    return (
        f'<section class="card"><h3>Question {item.number}</h3><div class="question">{text}</div>'
        f"<p>{escape('; '.join(figures))}.</p>{_drawn(results, item)}{_chosen(item)}"
        f"{f'<ul>{remarks}</ul>' if remarks else ''}"
        f"{apart}</section>"
    )


def _drawn(results: Results, item: Item) -> str:
    """The distribution of numbers, where they can be drawn together."""
    asked = results.deck.question(item.id)
    truth = results.truths.get(item.id)
    if item.type not in ("number", "predict") or (truth is None and asked.numbers):
        return ""
    values = sorted(float(one.answer) for one in results.of(item.id))
    if len(set(values)) < 3:
        return ""
    marked = [*values, *([truth] if truth is not None else [])]
    low, high = min(marked), max(marked)
    if truth is None:
        return spread(values, "answers", low, high, f"{low:.6g}", f"{high:.6g}")
    right = f"right: {truth:.6g} {asked.unit}".strip()
    return spread(values, "answers", low, high, f"{low:.6g}", f"{high:.6g}", truth, right)


def spread(
    values: Sequence[float],
    what: str,
    low: float,
    high: float,
    left: str,
    right: str,
    mark: float | None = None,
    marked: str = "",
) -> str:
    """A histogram with its ends, and what the line in it means, as text below it."""
    said = f"How {what} are spread, from {left} to {right}"
    middle = f"<span>red line: {escape(marked)}</span>" if marked else ""
    return (
        f"{svg.histogram(values, said, low, high, mark)}"
        f'<div class="axis"><span>{escape(left)}</span>{middle}<span>{escape(right)}</span></div>'
    )


def _chosen(item: Item) -> str:
    if not item.answered:
        return ""
    grouped = any(row.upper is not None for row in item.chosen)
    groups = (("Upper", "number"), ("Lower", "number")) if grouped else ()
    heads = (("Answer", "typed"), ("Chosen by", "figure"), ("Learners", "number"), *groups)
    rows = [_row(row, item.answered, grouped) for row in item.chosen]
    return table(heads, rows, item.groups if grouped else "")


def _row(row: AnswerChoice, answered: int, grouped: bool) -> Sequence[str]:
    colour = {True: svg.RIGHT, False: svg.WRONG, None: svg.ACCENT}[row.right]
    word = ' <span class="right">right</span>' if row.right else ""
    label = "" if row.label in ("right", "other") else f"{escape(row.label)}: "
    drawn = svg.bar(row.count / answered, f"{row.count} of {answered}", colour)
    groups = (str(row.upper), str(row.lower)) if grouped else ()
    return (f"{label}{name(row.text)}{word}", drawn, str(row.count), *groups)


def comparison(comparison: RoundComparison) -> str:
    """What changed since an earlier round, question by question."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in comparison.notes)
    rows = [
        (
            escape(one.text),
            f"{one.before} of {one.of}",
            f"{one.after} of {one.of}",
            "–" if one.change is None else f"{100 * one.change:+.0f}",
            escape(one.words),
        )
        for one in comparison.changes
    ]
    counts = (("Right before", "number"), ("Right after", "number"), ("Change in points of 100", "number"))
    changes = table((("Question", "typed"), *counts, ("What that says", "typed")), rows) if rows else ""
    return (
        f"<h2>Before and after</h2><p>Round {comparison.before} and round {comparison.after}, for "
        f"{say.count(comparison.both, 'learner')} who took part in both.</p>{notes}{changes}"
    )
