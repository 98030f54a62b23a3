"""Figures get their colours and their look from the theme alone."""

from __future__ import annotations

import re
from pathlib import Path

import workshop

ROOT = Path(workshop.__file__).parent
FIGURES = [*ROOT.glob("report/figures/*.py"), *ROOT.glob("**/*figures.py"), *ROOT.glob("notebook/*.py")]
OWN = re.compile(r"\"#[0-9a-f]{3,8}\"|\btemplate\s*=|\b(paper|plot)_bgcolor")
ELSEWHERE = {
    "theme.py",
    "quiz.py",
    "ansi.py",
}  # the theme; the notebook's quiz and the colours of terminals are no figures


def test_nobody_else_sets_colours_or_templates() -> None:
    found = [
        str(path.relative_to(ROOT)) for path in FIGURES if path.name not in ELSEWHERE and OWN.search(path.read_text())
    ]
    assert len(FIGURES) > 20 and found == []
