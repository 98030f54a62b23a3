"""What of a piece of HTML Markdown can say, to compare the two; and what both ways between them need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from workshop.quiz.formats.tree import Element

STRONG, EMPHASIS, CODE = {"b", "strong"}, {"i", "em"}, {"code", "tt", "kbd", "samp"}
_KEPT = {"strong", "em", "code", "pre", "ul", "ol", "li", "br", "hr", "blockquote", "table", "tr", "td", "th", "a"}
FORMULA = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$", re.DOTALL)


def shape(element: Element) -> str:
    """What of a tree Markdown can say, so that two of them can be compared; \u00b6 stands between paragraphs."""
    said = FORMULA.sub(lambda found: f"\\({tex_of(found)}\\)", "".join(_shapes(element.children)))
    said = re.sub(r"[\s\u00a0]+", " ", said)
    return re.sub(r" ?(?:\u00b6 ?)+", "\u00b6", re.sub(r"[ \u00b6]*(</?[a-z0-9]+>)[ \u00b6]*", r"\1", said)).strip(
        " \u00b6"
    )


def _shapes(children: list[Element | str]) -> Iterator[str]:
    for child in children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        elif child.tag == "math":
            found = all_of(child, {"annotation"})
            yield f"\\({escape(found[0].text().strip(), quote=False)}\\)" if found else escape(child.text())
        elif child.tag in ("sub", "sup"):
            yield f"\\({low_or_high(child)}\\)"
        elif child.tag == "img":
            continue
        else:
            tag = "strong" if child.tag in STRONG else "em" if child.tag in EMPHASIS else child.tag
            tag = "code" if child.tag in CODE else tag
            within = escape(child.text(), quote=False) if tag == "pre" else "".join(_shapes(child.children))
            if tag in ("p", "div", "body", "section", "article"):
                yield f"\u00b6{within}\u00b6"
            elif tag in _KEPT:
                yield f"<{tag}>{within}</{tag}>"
            else:
                yield within


def low_or_high(element: Element) -> str:
    words = " ".join(element.text().split())
    inner = words if re.fullmatch(r"[0-9+\-]+|[A-Za-z]", words) else f"\\text{{{words}}}"
    return f"{'_' if element.tag == 'sub' else '^'}{{{inner}}}"


def all_of(element: Element, tags: set[str]) -> list[Element]:
    found = []
    for child in element.children:
        if isinstance(child, Element):
            found += [child] if child.tag in tags else all_of(child, tags)
    return found


def tex_of(found: re.Match[str]) -> str:
    return between_dollars(next(group for group in found.groups() if group is not None).strip())


def between_dollars(tex: str) -> str:
    """A formula that can stand between dollars; empty where it can't."""
    return "" if re.search(r"(?<!\\)\$|\n\s*\n|\\$", tex) else tex
