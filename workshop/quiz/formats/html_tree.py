"""HTML as a tree in which every element is closed and scripts are left out, and what of it Markdown can say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_DROPPED = {"script", "style", "object", "iframe", "video", "audio", "svg", "form", "head"}
# What an element ends where it begins: <p> and <li> are often left open.
_ENDS = {"li": {"li"}, "p": {"p"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"}}
BLOCKS = {"p", "div", "ul", "ol", "li", "pre", "blockquote", "hr", "table", "h1", "h2", "h3", "h4", "h5", "h6"}
_INSIDE = {"li": {"ul", "ol"}, "tr": {"table"}, "td": {"table"}, "th": {"table"}}
DEEPEST = 60  # elements in each other


@dataclass
class HtmlElement:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[HtmlElement | str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = HtmlElement("body")
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
        made = HtmlElement(tag, {name: value or "" for name, value in attributes})
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


def parse(html: str) -> tuple[HtmlElement, list[str]]:
    """The tree of a piece of HTML, and what was left out of it, in words."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root, builder.lost


STRONG, EMPHASIS, CODE = {"b", "strong"}, {"i", "em"}, {"code", "tt", "kbd", "samp"}
_KEPT = {"strong", "em", "code", "pre", "ul", "ol", "li", "br", "hr", "blockquote", "table", "tr", "td", "th", "a"}
FORMULA = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$", re.DOTALL)


def shape(element: HtmlElement) -> str:
    """What of a tree Markdown can say, so that two of them can be compared; \u00b6 stands between paragraphs."""
    said = FORMULA.sub(lambda found: f"\\({tex_of(found)}\\)", "".join(_outlines(element.children)))
    said = re.sub(r"[\s\u00a0]+", " ", said)
    return re.sub(r" ?(?:\u00b6 ?)+", "\u00b6", re.sub(r"[ \u00b6]*(</?[a-z0-9]+>)[ \u00b6]*", r"\1", said)).strip(
        " \u00b6"
    )


def _outlines(children: list[HtmlElement | str]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        elif child.tag == "math":
            found = elements(child, {"annotation"})
            yield f"\\({escape(found[0].text().strip(), quote=False)}\\)" if found else escape(child.text())
        elif child.tag in ("sub", "sup"):
            yield f"\\({low_or_high(child)}\\)"
        elif child.tag == "img":
            continue
        else:
            tag = "strong" if child.tag in STRONG else "em" if child.tag in EMPHASIS else child.tag
            tag = "code" if child.tag in CODE else tag
            within = escape(child.text(), quote=False) if tag == "pre" else "".join(_outlines(child.children))
            if tag in ("p", "div", "body", "section", "article"):
                yield f"\u00b6{within}\u00b6"
            elif tag in _KEPT:
                yield f"<{tag}>{within}</{tag}>"
            else:
                yield within


def low_or_high(element: HtmlElement) -> str:
    words = " ".join(element.text().split())
    inner = words if re.fullmatch(r"[0-9+\-]+|[A-Za-z]", words) else f"\\text{{{words}}}"
    return f"{'_' if element.tag == 'sub' else '^'}{{{inner}}}"


def elements(element: HtmlElement, tags: set[str]) -> list[HtmlElement]:
    found = []
    for child in element.children:
        if isinstance(child, HtmlElement):
            found += [child] if child.tag in tags else elements(child, tags)
    return found


def tex_of(found: re.Match[str]) -> str:
    return between_dollars(next(group for group in found.groups() if group is not None).strip())


def between_dollars(tex: str) -> str:
    """A formula that can stand between dollars; empty where it can't."""
    return "" if re.search(r"(?<!\\)\$|\n\s*\n|\\$", tex) else tex
