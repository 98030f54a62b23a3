"""The class report: its cards as one HTML page without scripts and without requests to servers."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from workshop.quiz.results.cards import cards, head
from workshop.quiz.results.findings import RoundFindings
from workshop.report import html
from workshop.web.templates import render


@cache
def style() -> str:
    return html.STYLE + Path(__file__).with_name("report.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """The content security policy of a page: it allows only the page's style sheet."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'"


def write(findings: RoundFindings, template: str = "report", **values: Any) -> bytes:
    """The report as a file, or as a page by a template that adds to it."""
    page = render(
        template,
        title=findings.results.title,
        head=head(findings.results),
        policy=policy(),
        style=style(),
        cards=[html.section(card, lambda _: "") for card in cards(findings)],
        **values,
    )
    return page.encode("utf-8", "replace")
