"""Formulas as MathML, which browsers show without a script.

latex2mathml reads the formula. Its tree is checked against an allowlist of elements and attributes, because
latex2mathml passes on markup inside of \\text, addresses of \\href and styles unchanged.
"""

from __future__ import annotations

from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import tostring

from latex2mathml.converter import Converter

LONGEST_FORMULA = 1000  # characters

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
    if len(latex) > LONGEST_FORMULA:
        raise ValueError(f"a formula has at most {LONGEST_FORMULA} characters, not {len(latex)}")
    try:
        formula = Converter(display="block" if block else "inline").convert_to_element(latex)
    except Exception as error:  # latex2mathml raises errors of many kinds, also Python's own
        raise ValueError(f"the formula {_short(latex)} can't be read ({_reason(error)})") from None
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


def _reason(error: Exception) -> str:
    """The reason from the name of latex2mathml's error, which has no text: NoAvailableTokensError."""
    words = "".join(f" {character.lower()}" if character.isupper() else character for character in type(error).__name__)
    return words.strip().removesuffix(" error")


def _short(latex: str) -> str:
    line = " ".join(latex.split())
    return repr(line if len(line) <= 60 else line[:57] + "...").replace("\\\\", "\\")
