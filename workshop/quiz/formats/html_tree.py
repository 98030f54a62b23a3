"""Parses HTML into a tree without scripts in which every element is closed, and compares trees as Markdown would."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_DROPPED = {"script", "style", "object", "iframe", "video", "audio", "svg", "form", "head"}
# The open elements that the beginning of an element closes: <p> and <li> are often not closed.
_ENDS = {"li": {"li"}, "p": {"p"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"}}
BLOCKS = {"p", "div", "ul", "ol", "li", "pre", "blockquote", "hr", "table", "h1", "h2", "h3", "h4", "h5", "h6"}
_INSIDE = {"li": {"ul", "ol"}, "tr": {"table"}, "td": {"table"}, "th": {"table"}}
DEEPEST = 60  # levels of nested elements
_VALUE = r"""\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+)"""
# A tag, whose attributes have values, or the beginning of a comment.
_MARK = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[A-Za-z_:][\w:.-]*{_VALUE})*)\s*/?>|<!(?=--)")


STRONG, EMPHASIS, CODE = {"b", "strong"}, {"i", "em"}, {"code", "tt", "kbd", "samp"}
_WORDS = {"a", "table"} | _DROPPED | STRONG | EMPHASIS | CODE  # editors always close them or give them attributes


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
        self.dropped: list[str] = []  # open elements whose content is dropped
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
        element = HtmlElement(tag, {name: value or "" for name, value in attributes})
        self.open[-1].children.append(element)
        if tag not in _VOID and len(self.open) < DEEPEST:
            self.open.append(element)

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

    def handle_comment(self, data: str) -> None:
        self.lost.append("a remark")

    def handle_decl(self, decl: str) -> None:
        self.lost.append("a declaration")

    def handle_pi(self, data: str) -> None:
        self.handle_decl(data)

    def unknown_decl(self, data: str) -> None:
        self.handle_decl(data)

    def handle_data(self, data: str) -> None:
        if not self.dropped:
            self.open[-1].children.append(data)


def with_words(html: str, typed: bool) -> str:
    """Escape tags that can only be words of the text: `<head>`, or `<b>` without an end. If people `typed` the HTML,
    escape also every other `<` that begins no element, and pairs of tags whose content would be dropped."""
    marks = list(_MARK.finditer(html))
    words: set[int] = set()
    open: list[int] = []
    waiting: Counter[str] = Counter()  # the number of open elements of each tag

    def settle(number: int, is_markup: bool) -> None:
        if not is_markup and not marks[number][3] and (typed or marks[number][2].lower() in _WORDS):
            words.add(number)

    last = html.rfind("-->")
    for number, mark in enumerate(marks):
        tag = (mark[2] or "").lower()
        if not tag and typed and mark.start() > last:
            words.add(number)
        if tag in _VOID:
            settle(number, tag in ("br", "hr", "img"))
        elif tag and not mark[1]:
            open.append(number)
            waiting[tag] += 1
        elif waiting[tag]:
            while (inner := marks[open[-1]][2].lower()) != tag:
                settle(open.pop(), inner in _ENDS)
                waiting[inner] -= 1
            waiting[tag] -= 1
            if typed and tag in _DROPPED and not marks[open[-1]][3]:
                words |= {open[-1], number}
            open.pop()
        elif tag and typed:
            words.add(number)
    unclosed: set[str] = set()  # tags without an end at the beginning of a line: people often write <p> and <li> so
    for number in open:
        tag = marks[number][2].lower()
        if (
            tag in _ENDS
            and not html[max(marks[number].start() - 80, 0) : marks[number].start()].rpartition("\n")[2].strip()
        ):
            unclosed.add(tag)
        settle(number, tag in unclosed)
    parts, done = [], 0
    for number, mark in enumerate(marks):
        between = html[done : mark.start()]
        parts += [
            between.replace("<", "&lt;") if typed else between,
            "&lt;" * (number in words) + mark[0][number in words :],
        ]
        done = mark.end()
    return "".join(parts) + (html[done:].replace("<", "&lt;") if typed else html[done:])


def parse(html: str) -> tuple[HtmlElement, list[str]]:
    """The tree of a piece of HTML, and the dropped parts, in words."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root, builder.lost


# The elements that Markdown has.
_TAGS = {"strong", "em", "code", "pre", "ul", "ol", "li", "br", "hr", "blockquote", "table", "tr", "td", "th", "a"}
FORMULA = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$", re.DOTALL)


def shape(element: HtmlElement) -> str:
    """A text with everything of a tree that Markdown can express, for comparisons; \u00b6 separates paragraphs."""
    outline = FORMULA.sub(lambda match: f"\\({tex_of(match)}\\)", "".join(_outlines(element.children)))
    outline = re.sub(r"[\s\u00a0]+", " ", outline)
    return re.sub(r" ?(?:\u00b6 ?)+", "\u00b6", re.sub(r"[ \u00b6]*(</?[a-z0-9]+>)[ \u00b6]*", r"\1", outline)).strip(
        " \u00b6"
    )


def _outlines(children: list[HtmlElement | str]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        elif child.tag == "math":
            annotations = elements(child, {"annotation"})
            yield f"\\({escape(annotations[0].text().strip(), quote=False)}\\)" if annotations else escape(child.text())
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
            elif tag in _TAGS:
                yield f"<{tag}>{within}</{tag}>"
            else:
                yield within


def low_or_high(element: HtmlElement) -> str:
    words = " ".join(element.text().split())
    inner = words if re.fullmatch(r"[0-9+\-]+|[A-Za-z]", words) else f"\\text{{{words}}}"
    return f"{'_' if element.tag == 'sub' else '^'}{{{inner}}}"


def elements(element: HtmlElement, tags: set[str]) -> list[HtmlElement]:
    descendants = []
    for child in element.children:
        if isinstance(child, HtmlElement):
            descendants += [child] if child.tag in tags else elements(child, tags)
    return descendants


def tex_of(match: re.Match[str]) -> str:
    return between_dollars(next(group for group in match.groups() if group is not None).strip())


def between_dollars(tex: str) -> str:
    """The formula if it can be written between dollars, or an empty text."""
    return "" if re.search(r"(?<!\\)\$|\n\s*\n|\\$", tex) else tex
