"""Looks at HTML that is put into pages: only elements and attributes that can do no harm may come out."""

from __future__ import annotations

from html.parser import HTMLParser

TAGS = {
    "p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "br", "hr", "h4", "table", "thead", "tbody",
    "tr", "th", "td",
}  # fmt: skip
FORMULA = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder",
    "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose",
}  # fmt: skip
ATTRIBUTES = {"class", "start"}
# Of MathML, those that say how something is drawn and can hold no address and no style.
DRAWN = {
    "xmlns", "display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator",
    "accent", "accentunder", "movablelimits", "largeop", "minsize", "maxsize", "lspace", "rspace", "width", "height",
    "depth", "voffset", "linethickness", "columnalign", "columnlines", "columnspacing", "rowspacing", "rowlines",
    "notation",
}  # fmt: skip
EMPTY = {"br", "hr"}


class _Looker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS | FORMULA:
            self.wrong.append(tag)
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name not in (DRAWN if tag in FORMULA else ATTRIBUTES)]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}")

    def handle_data(self, data: str) -> None:
        self.text += data


def wrong(html: str) -> list[str]:
    """Elements and attributes that shouldn't be there, and elements that aren't closed in order."""
    looker = _Looker()
    looker.feed(html)
    looker.close()
    return looker.wrong + looker.open


def text(html: str) -> str:
    """What somebody reads."""
    looker = _Looker()
    looker.feed(html)
    looker.close()
    return " ".join(looker.text.split())
