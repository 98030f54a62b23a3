"""The class report: its cards as one HTML page without scripts and without requests to servers."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from workshop.quiz.results.cards import cards, head
from workshop.quiz.results.findings import RoundFindings
from workshop.report import html


@cache
def style() -> str:
    return html.STYLE + (files("workshop.quiz.results") / "report.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """The content security policy of a page: it allows only the page's style sheet."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'"


def write(findings: RoundFindings, tools: str = "", below: str = "") -> bytes:
    """The report as a file, or as a page with HTML under its heading (`tools`) and at its end."""
    title = escape(f"Results: {findings.results.title}")
    body = "".join(html.section(card, lambda _: "") for card in cards(findings))
    page = (
        '<!doctype html>\n<html lang="en" class="ws"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style()}</style></head><body>"
        f'<header><h1>{title}</h1><p class="ws-about">{escape(head(findings.results))}</p>{tools}</header>'
        f"<main>{body}</main>{below}</body></html>\n"
    )
    return page.encode("utf-8", "replace")
