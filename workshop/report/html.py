"""Cards as HTML: the one renderer for pages, live pages, notebooks and files.

The text of people and programs is escaped here and nowhere else. `cards.css` has the looks: whoever shows the HTML puts
the stylesheet beside it and an element of class `ws` around it. Figures are not HTML: `pieces` hands them out between
the HTML, and `section` puts into their places what the caller makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workshop.report.cards import Card, Part
from workshop.report.figures import description
from workshop.report.sentences import dumps

if TYPE_CHECKING:
    import plotly.graph_objects as go

STYLE = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("palette.css", "cards.css"))
SENTENCE = 40  # characters from which a cell holds a sentence
WIDE = 3  # columns above which a phone shows a table row by row
MANY_ROWS = 14  # rows of a table above which a page may let it scroll
SWITCH = (
    '<div class="ws-switch" role="group" aria-label="Draw curves by">'
    '<button type="button" value="step">by step</button>'
    '<button type="button" value="time">by time</button></div>'
)

_SPACE = re.compile(r"(?<=\d) (?=(?:%|[kMGT]?B|[mµ]?s|min|[kMGT])(?!\w))")  # between a number and its unit

Draw = Callable[[Part], str]
Source = Callable[[str], str | None]  # the address that shows a picture; empty: too large; None: not there


def pieces(
    parts: Iterable[Part], unrendered: Collection[str] = ("figure",), linked: bool = True, source: Source = str
) -> Iterator[str | Part]:
    """Parts as HTML; parts of the kinds `unrendered` as they are, for the caller to draw.

    Without `linked` there is no dashboard that links could lead to: only the words of links in tables are kept.
    """
    for native, group in groupby(parts, lambda part: part["kind"] in unrendered):
        if native:
            yield from group
        elif html := "".join(_part(part, linked, source) for part in group):
            yield html


def section(card: Card, draw: Draw, linked: bool = True, source: Source = str) -> str:
    """A card as a section, where `draw` makes HTML of a figure."""
    contents = pieces(card.parts, linked=linked, source=source)
    body = "".join(piece if isinstance(piece, str) else draw(piece) for piece in contents)
    switch = SWITCH if card.switch else ""
    head = f'<div class="ws-card-head">{title(card)}{switch}</div>' if card.title else ""
    looks = ["ws-card", *(f"ws-{look}" for look in (card.tone, card.half and "half") if look)]
    return (
        f'<section class="{" ".join(looks)}" data-card="{escape(card.name)}">{head}'
        f'<div class="ws-body">{body}</div></section>'
    )


def live(cards: Iterable[Card], tables: bool = False) -> str:
    """Cards for a live page, as JSON: their HTML with places for figures, and the figures, which Plotly draws there.
    `tables`: with the data of each figure beneath it."""
    figures: list[go.Figure] = []

    def place(title: str, part: Part) -> str:
        figures.append(part["figure"])
        attributes = f'data-figure="{len(figures) - 1}" data-width="{int(part["width"])}"'
        label = ". ".join(filter(None, (part["label"] or title, description.sentence(part["figure"]))))
        frame = f'<div class="ws-frame" role="img" aria-label="{escape(label)}" {attributes}></div>'
        return frame + (data(part["figure"]) if tables else "")

    html = "".join(section(card, partial(place, card.title)) for card in cards)
    return f'{{"html":{dumps(html)},"figures":[{",".join(str(figure.to_json()) for figure in figures)}]}}'


def data(figure: go.Figure) -> str:
    """A figure's data as a table that one opens."""
    headings, rows = description.table(figure)
    inner = f"<summary>Data of this figure</summary>{table(headings, rows)}"
    return f'<details class="ws-data">{inner}</details>' if rows else ""


def alone(html: str) -> str:
    """HTML for a notebook, with its stylesheet: an output has to look right without any other."""
    return f'<style>{STYLE}</style><div class="ws ws-notebook">{html}</div>'


def title(card: Card) -> str:
    return f"<h3>{escape(card.title)}</h3>" if card.title else ""


def box(inner: str, look: str = "") -> str:
    """A frame with a bar on its left: good, nearly, bad, calm, or of the usual colour. `inner` is HTML."""
    return f'<div class="{" ".join(filter(None, ("ws-box", look and f"ws-{look}")))}">{inner}</div>'


def line(text: str, label: str = "", tone: str = "") -> str:
    """A paragraph. A heading is one for screen readers, too, but no notebook lists it in its table of contents."""
    look = f' class="ws-{escape(tone)}"' if tone else ""
    role = ' role="heading" aria-level="2"' if tone == "heading" else ""
    before = f"<b>{escape(label)}</b> " if label else ""
    return f"<p{look}{role}>{before}{_text(text)}</p>"


def muted(text: str) -> str:
    return f'<span class="ws-about">{escape(text)}</span>'


def link(url: str, text: str, look: str = "", target: str = "_self") -> str:
    """A link; in another tab it can't reach this page."""
    more = (f' class="{look}"' if look else "") + (' rel="noopener"' if target == "_blank" else "")
    return f'<a href="{escape(url)}" target="{target}"{more}>{escape(text)}</a>'


def _text(text: str) -> str:
    """Escaped text, in which a number stays on one line with its unit."""
    return _SPACE.sub("\N{NO-BREAK SPACE}", escape(text))


def tiles(values: Iterable[Mapping[str, str]]) -> str:
    """Values under their labels, as `cards.tiles` has them."""

    def entry(label: str, value: str, exact: str = "") -> str:
        title = f' title="{escape(exact)}"' if exact else ""
        return f"<div><dt>{escape(label)}</dt><dd{title}>{_text(value)}</dd></div>"

    return f'<dl class="ws-tiles">{"".join(entry(**value) for value in values)}</dl>'


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], linked: bool = True) -> str:
    """A table, which scrolls where it doesn't fit; cells are as `cards.table` has them."""

    def row(cells: Sequence[Any], tag: str) -> str:
        names = headings if wide and tag == "td" else ()
        marked = zip_longest(cells, names[: len(cells)], fillvalue="")
        row_html = "".join(f"<{tag}{_look(cell)}{_named(name)}>{_cell(cell, linked)}</{tag}>" for cell, name in marked)
        return f"<tr>{row_html}</tr>"

    wide = len(headings) > WIDE  # a phone shows such a table as names and values
    body = [row(cells, "td") for cells in rows]
    many = (" ws-many" if len(body) > MANY_ROWS else "") + (" ws-rows" if wide else "")
    return (
        f'<div class="ws-scroll{many}"><table><thead>{row(headings, "th")}</thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def fold(title: str, inner: str) -> str:
    """HTML behind a fold."""
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def _named(name: str) -> str:
    return f' data-name="{escape(name)}"' if name else ""


def _look(cell: Any) -> str:
    """Sentences get some width, so that they don't make their row high."""
    return ' class="ws-text"' if isinstance(cell, str) and len(cell) > SENTENCE else ""


def _cell(cell: Any, linked: bool) -> str:
    if not isinstance(cell, Mapping):
        return _text(str(cell))
    if "links" in cell:
        return " ".join(
            link(target["url"], target["text"]) if linked else escape(target["text"]) for target in cell["links"]
        )
    if "share" in cell:
        look = f' class="ws-{cell["look"]}"' if cell["look"] else ""
        return f'<meter value="{cell["share"]:.4f}"{look}></meter> {_text(cell["text"])}'
    chip = f'<span class="ws-chip" style="background:{escape(cell["colour"])}"></span>' if "colour" in cell else ""
    return f'<span class="ws-rank">{chip}{escape(cell["text"])}</span>'


def _pictures(part: Part, source: Source) -> str:
    looks = "ws-small" if part["small"] else "ws-photos ws-wide" if part["wide"] else "ws-photos"
    images = "".join(
        _picture(picture, url) for picture in part["pictures"] if (url := source(picture["url"])) is not None
    )
    return f'<div class="{looks}">{images}</div>' if images else ""


def _picture(picture: Mapping[str, str], url: str) -> str:
    if not url:
        return muted(f"{picture['label']} is too large to be shown here: it is on the run's page.")
    label, note = escape(picture["label"]), escape(picture["note"])
    # The picture says its label already.
    return (
        f'<figure><img src="{escape(url)}" alt="{label}"><figcaption aria-hidden="{"false" if note else "true"}">'
        f"<b>{label.replace(' %', '&nbsp;%')}</b>{note and f' <span>{note}</span>'}</figcaption></figure>"
    )


def _links(part: Part) -> str:
    items = (
        f"<li>{link(target['url'], target['text'], 'ws-go' if target['button'] else '')} {escape(target['note'])}</li>"
        for target in part["links"]
    )
    return f'<ul class="ws-files">{"".join(items)}</ul>'


def _part(part: Part, linked: bool, source: Source) -> str:
    kind = part["kind"]
    if kind == "words":
        lines = (line(sentence["text"], sentence["label"], sentence["tone"]) for sentence in part["lines"])
        return f'<div class="ws-words">{"".join(lines)}</div>'
    if kind == "tiles":
        return tiles(part["tiles"])
    if kind == "table":
        return table(part["headings"], part["rows"], linked)
    if kind == "pictures":
        return _pictures(part, source)
    if kind == "links":
        return _links(part) if linked else ""
    if kind == "code":
        return f'<pre class="ws-code">{escape(part["text"])}</pre>'
    if kind == "markup":
        return f'<div class="ws-markup">{part["html"]}</div>'
    if kind == "fold":
        return fold(part["title"], f"<pre>{escape(part['text'])}</pre>")
    raise ValueError(f"a card has a part of the kind {kind!r}, which nobody can show")
