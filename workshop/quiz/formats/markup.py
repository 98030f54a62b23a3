"""Markdown as the HTML that other programs take, and as plain text. `markdown_writer` is the way back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from workshop.quiz import formulas

Math = Callable[[str, bool], str]  # a formula in TeX, and whether it is displayed, as HTML
# Between two characters that together would begin a formula in Moodle.
_APART = "<span></span>"
_BEGINS_FORMULA = re.compile(r"\\(?=[()\[\]])|\$(?=\$)")
# What XML has no characters for.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@cache
def parser() -> MarkdownIt:
    """The Markdown of `workshop.quiz.rendering`, without its numbers: formats have none."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return made.use(dollarmath_plugin, allow_labels=False, allow_digits=False, allow_space=False, double_inline=True)


def moodle_math(tex: str, display: bool) -> str:
    """A formula as MathJax finds it in Moodle's pages."""
    tex = escape(tex.strip(), quote=False)
    return f"\\[{tex}\\]" if display else f"\\({tex}\\)"


def mathml(tex: str, display: bool) -> str:
    """A formula as MathML, with its TeX beside it; one that can't be read is shown as it was written."""
    tex = tex.strip()
    try:
        made = formulas.mathml(tex, display)
    except ValueError:
        made = f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mtext>{escape(tex)}</mtext></math>'
    beside = f'<annotation encoding="application/x-tex">{escape(tex)}</annotation></semantics></math>'
    return re.sub(r"^(<math[^>]*>)(.*)</math>$", r"\1<semantics><mrow>\2</mrow>", made, flags=re.DOTALL) + beside


def html(markdown: str, math: Math = moodle_math) -> str:
    """Markdown as XHTML; formulas as `math` has them."""
    made = parser()
    tokens = made.parse(_NO_XML.sub("\ufffd", markdown), {})
    for token in tokens:
        for one in [token, *(token.children or ())]:
            if one.type.startswith("math"):
                made_of = math(one.content, one.type != "math_inline")
                block = one.type.startswith("math_block")
                one.content = f"<p>{made_of}</p>\n" if block else made_of
                one.type = "html_block" if block else "html_inline"
            elif one.type in ("text", "text_special"):
                one.content, one.type = _text(one.content), "html_inline"
    return made.renderer.render(tokens, made.options, {})


def inline(markdown: str, math: Math = moodle_math) -> str:
    """The same without the paragraph around it, where there is only one."""
    made = html(markdown, math).strip()
    if made.startswith("<p>") and made.endswith("</p>") and made.count("<p>") == 1:
        return made.removeprefix("<p>").removesuffix("</p>")
    return made


def plain(markdown: str) -> str:
    """The characters of a text on one line, without its marks; formulas stay as they are written."""
    words: list[str] = []
    for token in parser().parse(_NO_XML.sub("\ufffd", markdown), {}):
        for one in [token] if token.children is None else token.children:
            if one.type.startswith("math"):
                words.append(one.markup + one.content.strip() + one.markup)
            else:
                words.append(" " if one.type in ("softbreak", "hardbreak") else one.content)
        words.append(" ")
    return " ".join("".join(words).split())


def split_code(markdown: str) -> tuple[str, str]:
    """A text without the block of code that it ends with, and that code; empty where it ends with none."""
    tokens = parser().parse(_NO_XML.sub("\ufffd", markdown), {})
    last = tokens[-1] if tokens else None
    if last is None or last.type not in ("fence", "code_block") or last.map is None or not last.content.strip("\n"):
        return markdown, ""
    first, end = last.map
    lines = re.split(r"\r\n?|\n", markdown)  # addresses of links may be defined behind the code
    return "\n".join([*lines[:first], "", *lines[end:]]).strip("\n"), last.content.removesuffix("\n")


def marked(markdown: str) -> bool:
    """Whether a text has marks, formulas or several lines, which plain text can't carry."""
    text = markdown.strip()
    return "\n" in text or html(text).strip() != f"<p>{_text(plain(text))}</p>"


def clean(text: str) -> str:
    """A text without the characters that XML can't have, on one line."""
    return " ".join(_NO_XML.sub("\ufffd", text).split())


def _text(text: str) -> str:
    """A text's characters, of which none begins a formula."""
    return _BEGINS_FORMULA.sub(lambda found: found[0] + _APART, escape(text))
