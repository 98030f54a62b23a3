"""Converts HTML of other programs to Markdown. `markup` converts Markdown to HTML."""

from __future__ import annotations

import re
from builtins import list as list_  # the writer has a method of that name
from collections.abc import Sequence
from dataclasses import dataclass, field

from workshop.quiz.formats import markup
from workshop.quiz.formats.html_tree import (
    BLOCKS,
    CODE,
    EMPHASIS,
    FORMULA,
    STRONG,
    HtmlElement,
    between_dollars,
    elements,
    low_or_high,
    parse,
    shape,
    tex_of,
)

_PLAIN = {"span", "div", "body", "font", "tbody", "thead", "tfoot", "section", "article", "main", "abbr", "label"}
_BREAK = "\0"  # replaces line breaks until a paragraph is complete
_SPACE = re.compile("[ \t\r\f\u00a0]*\n[ \t\r\f\n\u00a0]*|[ \t\r\f\u00a0]+")
# Characters of plain text that Markdown would read as marks.
_MARKS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\s|$)|`|\$|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<! )\*|\*(?! )"
    r"|\[|\](?=[(\[:])|<(?=[A-Za-z][^<>\s]*[:@])|&(?=#?\w+;)|\{(?=[a-z][a-z0-9_]*\})"
)
_BEGINS = re.compile(r"^(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|=+\s*$|[|:-][\s:|-]*$)")
_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")
_SAFE = re.compile(r"(?:https?://|mailto:|[^:]*$)", re.IGNORECASE)


@dataclass
class MarkdownText:
    """Markdown, the pictures of the text (address, description), and the losses, in words."""

    text: str
    pictures: list[tuple[str, str]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def markdown(html: str) -> MarkdownText:
    """HTML as Markdown. Pictures are removed from the text; elements that Markdown lacks become their words."""
    root, lost = parse(html.replace(_BREAK, ""))
    tried = []
    for emphasis in "*_":  # if marks touch each other, often only one of these is read correctly
        writer = _Writer(emphasis)
        text = "\n\n".join(writer.blocks(root)).strip()
        tried.append(MarkdownText(text, writer.pictures, [*lost, *writer.lost]))
        if shape(parse(markup.html(text))[0]) == shape(root):
            return tried[-1]
    if not tried[0].lost:
        tried[0].lost.append("some of the text's formatting")
    return tried[0]


def escaped(text: str) -> str:
    """Plain text as Markdown that reads the same."""
    return "\n".join(_line(line.strip()) for line in _marked(text.strip()).split("\n"))


def _marked(text: str) -> str:
    return _MARKS.sub(lambda match: "\\" + match[0], text)


def _line(line: str) -> str:
    return _NUMBERED.sub(r"\1\\", _BEGINS.sub(r"\\", line))


class _Writer:
    def __init__(self, emphasis: str) -> None:
        self.emphasis = emphasis
        self.dots = True  # the marks of lists: 1. and - if true, else 1) and *
        self.pictures: list[tuple[str, str]] = []
        self.lost: list[str] = []

    def blocks(self, element: HtmlElement) -> list[str]:
        """The Markdown blocks of an element's children."""
        blocks: list[str] = []
        words: list_[HtmlElement | str] = []
        for child in [*element.children, None]:
            if child is not None and (isinstance(child, str) or not _is_block(child)):
                words.append(child)
                continue
            if words and (paragraph := self.paragraph(words)):
                blocks.append(paragraph)
            words = []
            if child is not None:
                blocks += self.block(child)
        return blocks

    def block(self, element: HtmlElement) -> list[str]:
        match element.tag:
            case "pre":
                return [_fenced(element)]
            case "hr":
                return ["***"]
            case "blockquote":
                return ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(self.blocks(element)).split("\n"))]
            case "ul" | "ol":
                dots = self.dots
                markdown = self.list(element, dots)
                self.dots = not dots  # with equal marks, two lists in a row would become one
                return [markdown]
            case "table":
                return [self.table(element)]
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                heading = " ".join(" ".join(self.blocks(element)).split())
                heading = heading if not heading.endswith("#") else heading[:-1] + "\\#"
                return [f"{'#' * int(element.tag[1])} {heading}".rstrip()]
        return self.blocks(element)

    def list(self, element: HtmlElement, dots: bool) -> str:
        numbered = element.tag == "ol"
        first = int(start) if (start := element.attributes.get("start", "")).isdigit() and len(start) < 9 else 1
        items = [child for child in element.children if isinstance(child, HtmlElement)]
        loose = any(isinstance(child, HtmlElement) and child.tag == "p" for item in items for child in item.children)
        lines: list[str] = []
        for number, item in enumerate(items, first):
            mark = f"{number}{').'[dots]} " if numbered else "*-"[dots] + " "
            self.dots = True
            item_lines = (("\n\n" if loose else "\n").join(self.blocks(item)) if item.children else "").split("\n")
            lines.append(mark + item_lines[0])
            lines += [" " * len(mark) + line if line else "" for line in item_lines[1:]]
            if loose:
                lines.append("")
        return "\n".join(lines).rstrip()

    def table(self, element: HtmlElement) -> str:
        rows = []
        for row in elements(element, {"tr"}):
            cells = [child for child in row.children if isinstance(child, HtmlElement) and child.tag in ("td", "th")]
            texts = [" ".join(" ".join(self.blocks(cell)).split()) for cell in cells]
            rows.append("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in texts) + " |")
        if not rows:
            return ""
        columns = max(len(re.findall(r"(?<!\\)\|", row)) for row in rows) - 1
        return "\n".join([rows[0], "|" + " --- |" * columns, *rows[1:]])

    def paragraph(self, words: Sequence[HtmlElement | str]) -> str:
        self.dots = True
        text = self.inline(words, True).strip(f" \n{_BREAK}")
        lines = [line.strip(" ") for line in re.sub(rf"[ \n]*{_BREAK}[ \n{_BREAK}]*", r"\\\n", text).split("\n")]
        return "\n".join(_line(line) for line in lines if line)

    def inline(self, words: Sequence[HtmlElement | str], alone: bool = False) -> str:
        nonblank = [word for word in words if not isinstance(word, str) or word.strip()]
        if alone and len(nonblank) == 1 and isinstance(nonblank[0], str):
            match = FORMULA.fullmatch(nonblank[0].strip())
            if match and match[1] is None and (tex := tex_of(match)):
                return f"$${tex}$$"
        return "".join(self.text(word) if isinstance(word, str) else self.element(word, alone) for word in words)

    def text(self, words: str) -> str:
        parts, done = [], 0
        for match in FORMULA.finditer(words):
            if tex := tex_of(match):
                parts += [self.characters(words[done : match.start()]), f"${tex}$" if match[1] else f"$${tex}$$"]
                done = match.end()
        return "".join(parts) + self.characters(words[done:])

    def characters(self, words: str) -> str:
        return _marked(_SPACE.sub(lambda match: "\n" if "\n" in match[0] else " ", words))

    def element(self, element: HtmlElement, alone: bool = False) -> str:
        tag = element.tag
        if tag == "br":
            return _BREAK
        if tag == "img":
            self.pictures.append((element.attributes.get("src", ""), element.attributes.get("alt", "").strip()))
            return ""
        if tag == "math":
            return self.formula(element)
        if tag in CODE:
            return _coded(element.text())
        if tag in ("sub", "sup"):
            return self.raised(element)
        text = self.inline(element.children)
        if tag in STRONG or tag in EMPHASIS:
            mark = self.emphasis if tag in EMPHASIS else "**"
            inner = text.strip()
            return text.replace(inner, f"{mark}{inner}{mark}", 1) if inner else text
        if tag == "a":
            return self.link(element, text)
        if tag not in _PLAIN and tag not in BLOCKS:
            self.lost.append(f"the mark <{tag}> of a part of the text")
        return text

    def link(self, element: HtmlElement, text: str) -> str:
        address = element.attributes.get("href", "")
        if (
            not text.strip()
            or "href" not in element.attributes
            or not _SAFE.match(address)
            or re.search(r"[\s<>\\]", address)
        ):
            self.lost.append("a link's address")
            return text
        return f"[{text}](<{address}>)"

    def formula(self, element: HtmlElement) -> str:
        for annotation in elements(element, {"annotation"}):
            if annotation.attributes.get("encoding") == "application/x-tex" and (
                tex := between_dollars(annotation.text().strip())
            ):
                return f"$${tex}$$" if element.attributes.get("display") == "block" else f"${tex}$"
        self.lost.append("a formula in MathML, of which only the characters are left")
        return _marked(" ".join(element.text().split()))

    def raised(self, element: HtmlElement) -> str:
        words = " ".join(element.text().split())
        if not re.fullmatch(r"[0-9A-Za-z+\-., ]+", words):
            self.lost.append(f"that {words[:40]!r} is {'below' if element.tag == 'sub' else 'above'} the line")
            return _marked(words)
        return f"${low_or_high(element)}$"


def _is_block(element: HtmlElement) -> bool:
    return element.tag in BLOCKS or any(
        _is_block(child) for child in element.children if isinstance(child, HtmlElement)
    )


def _coded(text: str) -> str:
    text = text.replace("\n", " ")
    if not text.strip():
        return text
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    while len(fence) > 1 and fence[:-1] not in re.findall("`+", text):
        fence = fence[:-1]
    pad = " " if text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fenced(element: HtmlElement) -> str:
    text = element.text().replace("\r\n", "\n").removesuffix("\n")
    inside = [child for child in element.children if isinstance(child, HtmlElement)]
    named = re.match(r"language-(\S+)", inside[0].attributes.get("class", "")) if inside else None
    language = named[1].replace("\\", "\\\\").replace("&", "\\&") if named else ""
    mark = "~" if "`" in language else "`"  # what follows backticks can't have one
    fence = mark * max(3, max((len(run) for run in re.findall(f"{mark}+", text)), default=0) + 1)
    begin = f"{fence}{' ' if language.startswith(mark) else ''}{language}\n"
    return f"{begin}{text}\n{fence}" if text else f"{begin}{fence}"
