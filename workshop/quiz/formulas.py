"""Formulas as MathML, which browsers show without a script.

latex2mathml reads the formula. We write its tree ourselves, with an allowlist of elements and attributes, because
latex2mathml passes on markup inside of \\text, addresses of \\href and styles unchanged.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING

from latex2mathml.converter import Converter

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LONGEST = 1000  # characters
DEEPEST = 50  # levels of nested elements

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
_REFUSED = ("\\def", "\\newcommand", "\\renewcommand", "\\newenvironment", "\\DeclareMathOperator")
_XMLNS = "http://www.w3.org/1998/Math/MathML"


@lru_cache(maxsize=2000)
def mathml(latex: str, block: bool = False) -> str:
    """A formula as a <math> element; `block`: on a separate line. Raises ValueError with one sentence if it is
    unreadable, or uses links, styles or definitions."""
    if len(latex) > LONGEST:
        raise ValueError(f"a formula has at most {LONGEST} characters, not {len(latex)}")
    for command in _REFUSED:
        if command in latex:
            raise ValueError(f"the formula {_short(latex)} defines something ({command}); it should be written out")
    try:
        element = Converter(display="block" if block else "inline").convert_to_element(latex)
    except RecursionError:
        raise ValueError(f"the formula {_short(latex)} is nested too deeply") from None
    except Exception as error:  # latex2mathml raises errors of many kinds, also Python's own
        raise ValueError(f"the formula {_short(latex)} can't be read ({_reason(error)})") from None
    return _written(element, latex, 0)


def _written(element: Element, latex: str, depth: int) -> str:
    """An element as markup. Raises ValueError for anything that is not on the allowlist."""
    tag = element.tag
    if depth > DEEPEST:
        raise ValueError(f"the formula {_short(latex)} is nested too deeply")
    if tag not in _CHILDREN:
        raise ValueError(f"the formula {_short(latex)} asks for {tag}, which formulas here don't have")
    child_count = _CHILDREN[tag]
    if child_count is not None and len(element) != child_count:
        raise ValueError(f"the formula {_short(latex)} lacks a part (a {tag} has {child_count})")
    attributes = []
    for name, value in element.attrib.items():
        if name == "xmlns":
            continue
        if name not in _ATTRIBUTES:
            raise ValueError(f"the formula {_short(latex)} asks for {name}, which formulas here don't have")
        attributes.append(f' {name}="{escape(value)}"')
    if tag == "math":
        attributes.append(f' xmlns="{_XMLNS}"')
    text = unescape(element.text or "")
    if tag in ("mi", "mo") and text.startswith("\\") and len(text) > 1:
        raise ValueError(f"the formula {_short(latex)} has {text} in it, which isn't known")
    inside = "".join(_written(child, latex, depth + 1) for child in element)
    return f"<{tag}{''.join(attributes)}>{escape(text, quote=False)}{inside}</{tag}>"


def _reason(error: Exception) -> str:
    """The reason from the name of latex2mathml's error, which has no text: NoAvailableTokensError."""
    words = "".join(f" {character.lower()}" if character.isupper() else character for character in type(error).__name__)
    return words.strip().removesuffix(" error")


def _short(latex: str) -> str:
    line = " ".join(latex.split())
    return repr(line if len(line) <= 60 else line[:57] + "...").replace("\\\\", "\\")
