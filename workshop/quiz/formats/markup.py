"""Converts Markdown to the HTML of other programs, and to plain text. `markdown_writer` converts HTML to Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from workshop.quiz import formulas

Math = Callable[[str, bool], str]  # a formula in TeX, and whether it is displayed, as HTML
# Separates two characters that together would begin a formula in Moodle.
_SEPARATOR = "<span></span>"
_BEGINS_FORMULA = re.compile(r"\\(?=[()\[\]])|\$(?=\$)")
# Characters that XML doesn't allow.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@cache
def parser() -> MarkdownIt:
    """The Markdown parser of `workshop.quiz.rendering`, but without numbers, which formats don't have."""
    markdown_parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return markdown_parser.use(
        dollarmath_plugin, allow_labels=False, allow_digits=False, allow_space=False, double_inline=True
    )


def moodle_math(tex: str, display: bool) -> str:
    """A formula in the notation that MathJax finds in Moodle's pages."""
    tex = escape(tex.strip(), quote=False)
    return f"\\[{tex}\\]" if display else f"\\({tex}\\)"


def mathml(tex: str, display: bool) -> str:
    """A formula as MathML, with its TeX as an annotation; an unreadable formula is shown as its TeX."""
    tex = tex.strip()
    try:
        formula = formulas.mathml(tex, display)
    except ValueError:
        formula = f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mtext>{escape(tex)}</mtext></math>'
    beside = f'<annotation encoding="application/x-tex">{escape(tex)}</annotation></semantics></math>'
    return re.sub(r"^(<math[^>]*>)(.*)</math>$", r"\1<semantics><mrow>\2</mrow>", formula, flags=re.DOTALL) + beside


def html(markdown: str, math: Math = moodle_math) -> str:
    """Markdown as XHTML; `math` converts the formulas."""
    markdown_parser = parser()
    tokens = markdown_parser.parse(_NO_XML.sub("\ufffd", markdown), {})
    for token in tokens:
        for part in [token, *(token.children or ())]:
            if part.type.startswith("math"):
                formula = math(part.content, part.type != "math_inline")
                block = part.type.startswith("math_block")
                part.content = f"<p>{formula}</p>\n" if block else formula
                part.type = "html_block" if block else "html_inline"
            elif part.type in ("text", "text_special"):
                part.content, part.type = _text(part.content), "html_inline"
    return str(markdown_parser.renderer.render(tokens, markdown_parser.options, {}))


def inline(markdown: str, math: Math = moodle_math) -> str:
    """Markdown as XHTML; a single paragraph loses its <p> element."""
    xhtml = html(markdown, math).strip()
    if xhtml.startswith("<p>") and xhtml.endswith("</p>") and xhtml.count("<p>") == 1:
        return xhtml.removeprefix("<p>").removesuffix("</p>")
    return xhtml


def plain(markdown: str) -> str:
    """A text on one line, without its marks; formulas stay as they are written."""
    words: list[str] = []
    for token in parser().parse(_NO_XML.sub("\ufffd", markdown), {}):
        for part in [token] if token.children is None else token.children:
            if part.type.startswith("math"):
                words.append(part.markup + part.content.strip() + part.markup)
            else:
                words.append(" " if part.type in ("softbreak", "hardbreak") else part.content)
        words.append(" ")
    return " ".join("".join(words).split())


def split_code(markdown: str) -> tuple[str, str]:
    """A text without the block of code at its end, and that code; the code is empty if there is no such block."""
    tokens = parser().parse(_NO_XML.sub("\ufffd", markdown), {})
    last = tokens[-1] if tokens else None
    if last is None or last.type not in ("fence", "code_block") or last.map is None or not last.content.strip("\n"):
        return markdown, ""
    first, end = last.map
    lines = re.split(r"\r\n?|\n", markdown)  # addresses of links may be defined behind the code
    return "\n".join([*lines[:first], "", *lines[end:]]).strip("\n"), last.content.removesuffix("\n")


def marked(markdown: str) -> bool:
    """Whether a text has marks, formulas or several lines, which plain text loses."""
    text = markdown.strip()
    return "\n" in text or html(text).strip() != f"<p>{_text(plain(text))}</p>"


def clean(text: str) -> str:
    """A text on one line, without the characters that XML doesn't allow."""
    return " ".join(_NO_XML.sub("\ufffd", text).split())


def _text(text: str) -> str:
    """Escape a text, so that no character begins a formula."""
    return _BEGINS_FORMULA.sub(lambda match: match[0] + _SEPARATOR, escape(text))
