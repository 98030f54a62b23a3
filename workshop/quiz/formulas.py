"""Formulas as MathML, which browsers show without a script.

latex2mathml reads the formula. What it makes is written here, from a list of elements and attributes: it would pass on
markup inside of \\text, addresses of \\href and styles as they are.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING

from latex2mathml.converter import Converter

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LONGEST = 1000  # characters
DEEPEST = 50  # elements in each other

# How many children elements of MathML have; None: any number. From MathML Core, section 3.
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
    """A formula as a <math> element; `block`: on a line of its own. Raises ValueError with one sentence where it can't
    be read, or asks for what a formula doesn't need (links, styles, definitions)."""
    if len(latex) > LONGEST:
        raise ValueError(f"a formula has at most {LONGEST} characters, not {len(latex)}")
    for command in _REFUSED:
        if command in latex:
            raise ValueError(f"the formula {_short(latex)} defines something ({command}); it should be written out")
    try:
        element = Converter(display="block" if block else "inline").convert_to_element(latex)
    except RecursionError:
        raise ValueError(f"the formula {_short(latex)} is nested too deeply") from None
    except Exception as error:  # it raises errors of many kinds, also plain ones of Python
        raise ValueError(f"the formula {_short(latex)} can't be read ({_reason(error)})") from None
    return _written(element, latex, 0)


def _written(element: Element, latex: str, depth: int) -> str:
    """An element as markup, with nothing in it that isn't on the list."""
    tag = element.tag
    if depth > DEEPEST:
        raise ValueError(f"the formula {_short(latex)} is nested too deeply")
    if tag not in _CHILDREN:
        raise ValueError(f"the formula {_short(latex)} asks for {tag}, which formulas here don't have")
    wanted = _CHILDREN[tag]
    if wanted is not None and len(element) != wanted:
        raise ValueError(f"the formula {_short(latex)} lacks a part (a {tag} has {wanted})")
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
    """latex2mathml's errors have names that say what is wrong, and no text: NoAvailableTokensError."""
    words = "".join(f" {one.lower()}" if one.isupper() else one for one in type(error).__name__)
    return words.strip().removesuffix(" error")


def _short(latex: str) -> str:
    shown = " ".join(latex.split())
    return repr(shown if len(shown) <= 60 else shown[:57] + "...").replace("\\\\", "\\")
