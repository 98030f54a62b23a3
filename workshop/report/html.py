"""Cards as HTML: the one renderer for pages, live pages, notebooks and files.

The macros of cards.html make the HTML, and escape what people and programs wrote; whoever shows it puts `STYLE` beside
it and an element of class `ws` around it. Figures are no HTML: `pieces` hands them out, and `section` puts into their
places what the caller makes of them. Who can't see a figure has a sentence on it, and a table of its data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workshop.core.words import quantity
from workshop.report.cards import Card, Part
from workshop.report.sentences import dumps

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HERE = Path(__file__).parent
STYLE = "".join((_HERE / name).read_text(encoding="utf-8") for name in ("palette.css", "cards.css"))
# Of all HTML: who has templates of their own overlays it with another loader.
ENVIRONMENT = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)

_SPACE = re.compile(r"(?<=\d) (?=(?:%|[kMGT]?B|[mµ]?s|min|[kMGT])(?!\w))")  # between a number and its unit
ENVIRONMENT.filters["units"] = lambda text: _SPACE.sub("\N{NO-BREAK SPACE}", str(text))  # which stay on one line

Draw = Callable[[Part], str]
Source = Callable[[str], str | None]  # the address that shows a picture; empty: too large; None: not there


class Macros:
    """The macros of a template, which may import cards.html, as functions that return HTML."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *values, **named: str(getattr(_module(self._file), name)(*values, **named))


@cache
def _module(file: Path) -> Any:
    return ENVIRONMENT.overlay(loader=FileSystemLoader([file.parent, _HERE])).get_template(file.name).module


CARDS = Macros(_HERE / "cards.html")


def pieces(
    parts: Iterable[Part], unrendered: Collection[str] = ("figure",), linked: bool = True, source: Source = str
) -> Iterator[str | Part]:
    """Parts as HTML; parts of the kinds `unrendered` as they are, for the caller to draw. Without `linked` there is no
    dashboard that links could lead to: only the words of links in tables are kept."""
    for native, group in groupby(parts, lambda part: part["kind"] in unrendered):
        if native:
            yield from group
        elif html := "".join(CARDS.part(part, linked, source) for part in group):
            yield html


def section(card: Card, draw: Draw, linked: bool = True, source: Source = str) -> str:
    """A card as a section, where `draw` makes HTML of a figure."""
    contents = pieces(card.parts, linked=linked, source=source)
    return CARDS.section(card, "".join(piece if isinstance(piece, str) else draw(piece) for piece in contents))


def live(cards: Iterable[Card], tables: bool = False) -> str:
    """Cards for a live page, as JSON: their HTML with places for figures, and the figures, which Plotly draws there.
    `tables`: with the data of each figure beneath it."""
    figures: list[go.Figure] = []

    def place(title: str, part: Part) -> str:
        label = ". ".join(filter(None, (part["label"] or title, figure_sentence(part["figure"]))))
        frame = CARDS.frame(label, len(figures), int(part["width"]))
        figures.append(part["figure"])
        return frame + (data(part["figure"]) if tables else "")

    html = "".join(section(card, partial(place, card.title)) for card in cards)
    return f'{{"html":{dumps(html)},"figures":[{",".join(str(figure.to_json()) for figure in figures)}]}}'


def data(figure: go.Figure) -> str:
    """A figure's data as a table that one opens."""
    headings, rows = figure_table(figure)
    return CARDS.data(headings, rows) if rows else ""


def alone(html: str) -> str:
    """HTML for a notebook, with its stylesheet: an output has to look right without any other."""
    return CARDS.alone(STYLE, html)


title, box, line, muted, link = CARDS.title, CARDS.box, CARDS.line, CARDS.muted, CARDS.link
tiles, table = CARDS.tiles, CARDS.table


MOST_NAMED = 4  # lines that the sentence describes
MOST_ROWS = 100  # of the table; of more points, an even selection is shown
# By the type of the first trace.
KINDS = {
    "bar": "Bar chart",
    "heatmap": "Heat map",
    "waterfall": "Waterfall chart",
    "box": "Box plot",
    "pie": "Pie chart",
}
VALUES = {"heatmap": "z", "pie": "values"}  # of other traces y


def figure_sentence(figure: go.Figure) -> str:
    """A sentence with a figure's kind, its axes, and the range of each line. Empty without data."""
    traces = list(_traces(figure))
    if not traces:
        return ""
    kind = KINDS.get(traces[0].type, "Chart")
    axes = [title for axis in (figure.layout.yaxis, figure.layout.xaxis) if (title := _plain(axis.title.text))]
    head = f"{kind} of {' over '.join(axes)}" if axes else kind
    named = [words for trace in traces[:MOST_NAMED] if (words := _range(trace))]
    more = f", and {len(traces) - MOST_NAMED} more" if len(traces) > MOST_NAMED else ""
    return f"{head}: {'; '.join(named)}{more}." if named else f"{head}."


def figure_table(figure: go.Figure) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a figure's data; no rows without data."""
    across, up = _plain(figure.layout.xaxis.title.text) or "x", _plain(figure.layout.yaxis.title.text) or "y"
    rows = [
        [_plain(trace.name) or str(number), *map(_word, cell)]
        for number, trace in enumerate(_traces(figure), 1)
        for cell in _cells(trace)
    ]
    if len(rows) > MOST_ROWS:
        rows = [rows[round(place * (len(rows) - 1) / (MOST_ROWS - 1))] for place in range(MOST_ROWS)]
    return ["Series", across, up, *(["value"] if any(len(row) > 3 for row in rows) else [])], rows


def _traces(figure: go.Figure) -> Iterator[Any]:
    """The traces that have data."""
    visible = (trace for trace in figure.data if trace.visible is not False)
    return (trace for trace in visible if _list(getattr(trace, VALUES.get(trace.type, "y"), None)))


def _cells(trace: Any) -> Iterator[Sequence[Any]]:
    """The points of a trace: across, up, and the value of a heat map's."""
    up = _list(getattr(trace, "y", None))
    if trace.type == "pie":
        yield from zip(trace.labels, trace.values, strict=False)
    elif trace.type == "heatmap":
        matrix = [_list(row) for row in _list(trace.z)]
        for y, row in zip(up or range(len(matrix)), matrix, strict=False):
            yield from ((x, y, value) for x, value in zip(_list(trace.x) or range(len(row)), row, strict=False))
    else:
        points = zip(_list(trace.x) or range(len(up)), up, strict=False)
        yield from (point for point in points if point[1] is not None)


def _range(trace: Any) -> str:
    """A series with its number of points and its range."""
    if trace.type == "pie":
        return "; ".join(f"{_word(label)} {_word(value)}" for label, value in _cells(trace))
    place = 0 if getattr(trace, "orientation", None) == "h" else -1
    numbers = [
        value for cell in _cells(trace) if isinstance(value := cell[place], int | float) and math.isfinite(value)
    ]
    if not numbers:
        return ""
    span = f"{len(numbers)} points from {_word(min(numbers))} to {_word(max(numbers))}"
    return ", ".join(filter(None, (_plain(trace.name), span if len(numbers) > 1 else _word(numbers[0]))))


def _list(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _word(value: Any) -> str:
    return quantity(value) if isinstance(value, float) else _plain(value)


def _plain(text: Any) -> str:
    """Text without Plotly's tags."""
    return re.sub(r"<[^>]*>", " ", str(text)).strip() if text is not None else ""
