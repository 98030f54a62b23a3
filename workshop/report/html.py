"""Cards as HTML: the one renderer for pages, live pages, notebooks and files.

The macros of cards.html make the HTML, and escape what people and programs wrote. `cards.css` has the looks: whoever
shows the HTML puts the stylesheet beside it and an element of class `ws` around it. Figures are not HTML: `pieces`
hands them out between the HTML, and `section` puts into their places what the caller makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workshop.report.cards import Card, Part
from workshop.report.figures import description
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


@cache
def _macros() -> Any:
    return ENVIRONMENT.get_template("cards.html").module


def pieces(
    parts: Iterable[Part], unrendered: Collection[str] = ("figure",), linked: bool = True, source: Source = str
) -> Iterator[str | Part]:
    """Parts as HTML; parts of the kinds `unrendered` as they are, for the caller to draw.

    Without `linked` there is no dashboard that links could lead to: only the words of links in tables are kept.
    """
    for native, group in groupby(parts, lambda part: part["kind"] in unrendered):
        if native:
            yield from group
        elif html := "".join(_macros().part(part, linked, source) for part in group):
            yield html


def section(card: Card, draw: Draw, linked: bool = True, source: Source = str) -> str:
    """A card as a section, where `draw` makes HTML of a figure."""
    contents = pieces(card.parts, linked=linked, source=source)
    return str(_macros().section(card, "".join(piece if isinstance(piece, str) else draw(piece) for piece in contents)))


def live(cards: Iterable[Card], tables: bool = False) -> str:
    """Cards for a live page, as JSON: their HTML with places for figures, and the figures, which Plotly draws there.
    `tables`: with the data of each figure beneath it."""
    figures: list[go.Figure] = []

    def place(title: str, part: Part) -> str:
        label = ". ".join(filter(None, (part["label"] or title, description.sentence(part["figure"]))))
        frame = str(_macros().frame(label, len(figures), int(part["width"])))
        figures.append(part["figure"])
        return frame + (data(part["figure"]) if tables else "")

    html = "".join(section(card, partial(place, card.title)) for card in cards)
    return f'{{"html":{dumps(html)},"figures":[{",".join(str(figure.to_json()) for figure in figures)}]}}'


def data(figure: go.Figure) -> str:
    """A figure's data as a table that one opens."""
    headings, rows = description.table(figure)
    return str(_macros().data(headings, rows)) if rows else ""


def alone(html: str) -> str:
    """HTML for a notebook, with its stylesheet: an output has to look right without any other."""
    return f'<style>{STYLE}</style><div class="ws ws-notebook">{html}</div>'


def title(card: Card) -> str:
    return str(_macros().title(card))


def box(inner: str, look: str = "") -> str:
    """A frame with a bar on its left: good, nearly, bad, calm, or of the usual colour. `inner` is HTML."""
    return str(_macros().box(inner, look))


def line(text: str, label: str = "", tone: str = "") -> str:
    """A paragraph. A heading is one for screen readers, too, but no notebook lists it in its table of contents."""
    return str(_macros().line(text, label, tone))


def muted(text: str) -> str:
    return str(_macros().muted(text))


def link(url: str, text: str, look: str = "", target: str = "_self") -> str:
    """A link; in another tab it can't reach this page."""
    return str(_macros().link(url, text, look, target))


def tiles(values: Iterable[Mapping[str, str]]) -> str:
    """Values under their labels, as `cards.tiles` has them."""
    return str(_macros().tiles(values))


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table, which scrolls where it doesn't fit; cells are as `cards.table` has them."""
    return str(_macros().table(headings, rows))
