"""The article's path as a kind of study."""

from __future__ import annotations

from workshop.study.guided.guide import Guide
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import form

GUIDE = Guide.read(__package__)
KIND = kind(GUIDE)
FORM = form(GUIDE)
