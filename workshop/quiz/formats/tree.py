"""HTML as a tree: whatever is written, every element is closed, and scripts are left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_DROPPED = {"script", "style", "object", "iframe", "video", "audio", "svg", "form", "head"}
# What an element ends where it begins: <p> and <li> are often left open.
_ENDS = {"li": {"li"}, "p": {"p"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"}}
BLOCKS = {"p", "div", "ul", "ol", "li", "pre", "blockquote", "hr", "table", "h1", "h2", "h3", "h4", "h5", "h6"}
_INSIDE = {"li": {"ul", "ol"}, "tr": {"table"}, "td": {"table"}, "th": {"table"}}
DEEPEST = 60  # elements in each other


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("body")
        self.open = [self.root]
        self.dropped: list[str] = []  # elements that are open and of which nothing is kept
        self.lost: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED or self.dropped:
            if not self.dropped:
                self.lost.append(f"a {tag}")
            if tag not in _VOID:
                self.dropped.append(tag)
            return
        ends = _ENDS.get(tag, set()) | ({"p"} if tag in BLOCKS else set())
        for number in range(len(self.open) - 1, 0, -1):
            if self.open[number].tag in _INSIDE.get(tag, set()):
                break
            if self.open[number].tag in ends:
                del self.open[number:]
                break
            if self.open[number].tag in BLOCKS and tag == "p":
                break
        made = Element(tag, {name: value or "" for name, value in attributes})
        self.open[-1].children.append(made)
        if tag not in _VOID and len(self.open) < DEEPEST:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.dropped:
            if tag in self.dropped:
                del self.dropped[self.dropped.index(tag) :]
            return
        for number in range(len(self.open) - 1, 0, -1):
            if self.open[number].tag == tag:
                del self.open[number:]
                return

    def handle_data(self, data: str) -> None:
        if not self.dropped:
            self.open[-1].children.append(data)


def parse(html: str) -> tuple[Element, list[str]]:
    """The tree of a piece of HTML, and what was left out of it, in words."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root, builder.lost
