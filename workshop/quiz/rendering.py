r"""Markdown of decks as HTML for browsers, and as plain text.

The dialect is CommonMark with tables, and with formulas between dollars. HTML in the text is shown as text. A link is
shown as its words and its address. Pictures in the text are not shown; a question has a field for its picture. Formulas
become MathML; latex2mathml's tree is checked against an allowlist of elements and attributes, because latex2mathml
passes on markup inside of \text, addresses of \href and styles unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from html import escape, unescape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

from latex2mathml.converter import Converter
from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from workshop.quiz.parts import written
from workshop.report.html import Macros

ANSWERS = Macros(Path(__file__).parent / "types" / "answers.html")
HEADING = "h4"  # for headings of all levels, because a question is below the page's own headings
_NUMBER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_IN_FORMULA = re.compile(r"(\\[A-Za-z]+\*?\s*)?\{([a-z][a-z0-9_]*)\}")
_WORDS = ("text", "mathrm", "operatorname", "begin", "end", "mathtt", "mathit", "mathbf", "textbf", "textit", "mbox")
_LANGUAGE = re.compile(r"[A-Za-z0-9+-]{1,20}")
_ALIGNED = re.compile(r"text-align:(left|right|center)")


def html(markdown: str, numbers: Mapping[str, float] | None = None) -> str:
    """Markdown as HTML that is safe to put into a page; `{name}` becomes the number of that name."""
    return _html(markdown, tuple(sorted((numbers or {}).items())))


@lru_cache(maxsize=4000)
def _html(markdown: str, numbers: tuple[tuple[str, float], ...]) -> str:
    env = {"numbers": dict(numbers)}
    return str(_reader().render(markdown, env)).strip()


def plain(markdown: str, numbers: Mapping[str, float] | None = None) -> str:
    """Markdown as text on one line, for tables and for names: no markup, and formulas as they are written."""
    parts: list[str] = []
    for token in _flat(_reader().parse(markdown, {})):
        if token.type == "number":
            parts.append(_number(token.content, numbers or {}))
        elif token.type.startswith("math"):
            parts.append(put_in(token.content, numbers or {}))
        elif token.type in ("text", "code_inline", "fence", "code_block"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak") or token.block:
            parts.append(" ")
    return " ".join("".join(parts).split())


def names(markdown: str) -> set[str]:
    """The names of numbers in a text, outside of code and formulas."""
    return {token.content for token in _flat(_reader().parse(markdown, {})) if token.type == "number"}


def names_in_formulas(markdown: str) -> set[str]:
    """The words between braces in formulas, which may be names of numbers."""
    return {name for latex, _ in _formulas(markdown) for _, name in _IN_FORMULA.findall(latex)}


def problems(markdown: str, numbers: Mapping[str, float] | None = None) -> list[str]:
    """Report unreadable formulas, and pictures inside of the text."""
    texts = []
    for latex, block in _formulas(markdown):
        try:
            mathml(put_in(latex, numbers or {}), block)
        except ValueError as error:
            texts.append(str(error))
    if any(token.type == "image" for token in _flat(_reader().parse(markdown, {}))):
        texts.append("a picture in the text isn't shown; it should be the question's picture, with file and alt")
    return texts


def _formulas(markdown: str) -> Iterator[tuple[str, bool]]:
    for token in _flat(_reader().parse(markdown, {})):
        if token.type.startswith("math"):
            yield token.content.strip(), token.type != "math_inline"


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or ())


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    reader.use(dollarmath_plugin, allow_labels=False, allow_digits=False, allow_space=False, double_inline=True)
    reader.inline.ruler.before("escape", "number", _read_number)
    for name in ("math_inline", "math_inline_double", "math_block"):
        reader.add_render_rule(name, _Renderer.formula)
    return reader


def _read_number(state: StateInline, silent: bool) -> bool:
    """Read `{name}` in a line of text. In `\\{name}`, markdown-it has consumed the brace with its backslash."""
    match = _NUMBER.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("number", "", 0).content = match[1]
    state.pos = match.end()
    return True


def _number(name: str, numbers: Mapping[str, float]) -> str:
    return written(numbers[name]) if name in numbers else f"{{{name}}}"


def put_in(latex: str, numbers: Mapping[str, float]) -> str:
    """A formula with its numbers put in. Braces stay, because they also group, as in 2^{n}. Words such as \\text{n}
    stay, too."""

    def put(match: re.Match[str]) -> str:
        command, name = match[1] or "", match[2]
        if name not in numbers or command.strip().strip("\\*") in _WORDS:
            return match[0]
        return f"{command}{{{written(numbers[name])}}}"

    return _IN_FORMULA.sub(put, latex)


class _Renderer(RendererHTML):
    """markdown-it's HTML without links, and without anything that loads other files."""

    def renderToken(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        if token.type.startswith("heading"):
            token.tag = HEADING
        if aligned := _ALIGNED.fullmatch(str(token.attrs.get("style", ""))):
            token.attrs = {"class": f"align-{aligned[1]}"}
        return super().renderToken(tokens, idx, options, env)

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env.setdefault("links", []).append((idx, str(tokens[idx].attrs.get("href", ""))))
        return ""

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        start, address = env["links"].pop()
        words = "".join(token.content for token in tokens[start:idx])
        return "" if words in (address, address.removeprefix("mailto:")) else f" ({escape(address)})"

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return escape(self.renderInlineAsText(tokens[idx].children, options, env))

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        language = (unescapeAll(tokens[idx].info).split() or [""])[0]
        named = f' class="language-{language}"' if _LANGUAGE.fullmatch(language) else ""
        return f"<pre><code{named}>{escape(tokens[idx].content, quote=False)}</code></pre>\n"

    def number(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return escape(_number(tokens[idx].content, env.get("numbers", {})))

    def formula(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        latex = put_in(token.content.strip(), env.get("numbers", {}))
        try:
            return mathml(latex, token.type != "math_inline")
        except ValueError:
            return f"<code>{escape(token.markup + latex + token.markup, quote=False)}</code>"


# The number of children of each MathML element; None: any number. From MathML Core, section 3.
_CHILDREN: dict[str, int | None] = {
    **dict.fromkeys(("math", "mrow", "mstyle", "mpadded", "mphantom", "menclose", "msqrt", "mtable", "mtr", "mtd")),
    **dict.fromkeys(("mi", "mn", "mo", "mtext", "mspace"), 0),
    **dict.fromkeys(("mfrac", "msub", "msup", "munder", "mover", "mroot"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_ATTRIBUTES = {
    *("display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator", "accent"),
    *("accentunder", "movablelimits", "largeop", "minsize", "maxsize", "lspace", "rspace", "width", "height", "depth"),
    *("voffset", "linethickness", "columnalign", "columnlines", "columnspacing", "rowspacing", "rowlines", "notation"),
}


@lru_cache(maxsize=2000)
def mathml(latex: str, block: bool = False) -> str:
    """A formula as a <math> element; `block`: on a separate line. Raises ValueError with one sentence if it is
    unreadable, or uses links or styles."""
    try:
        formula = Converter(display="block" if block else "inline").convert_to_element(latex)
    except Exception as error:  # latex2mathml raises errors of many kinds, also Python's own
        why = re.sub("([A-Z])", r" \1", type(error).__name__).lower().strip().removesuffix(" error")
        raise ValueError(f"the formula {_short(latex)} can't be read ({why})") from None
    for element in formula.iter():
        tag = element.tag
        unknown = [name for name in (tag, *element.attrib) if name not in (*_CHILDREN, *_ATTRIBUTES, "xmlns")]
        if unknown:
            raise ValueError(f"the formula {_short(latex)} asks for {unknown[0]}, which formulas here don't have")
        child_count = _CHILDREN[tag]
        if child_count is not None and len(element) != child_count:
            raise ValueError(f"the formula {_short(latex)} lacks a part (a {tag} has {child_count})")
        element.text = unescape(element.text or "")
        if tag in ("mi", "mo") and element.text.startswith("\\") and len(element.text) > 1:
            raise ValueError(f"the formula {_short(latex)} has {element.text} in it, which isn't known")
    return tostring(formula, encoding="unicode", short_empty_elements=False)


def _short(latex: str) -> str:
    line = " ".join(latex.split())
    return repr(line if len(line) <= 60 else line[:57] + "...").replace("\\\\", "\\")
