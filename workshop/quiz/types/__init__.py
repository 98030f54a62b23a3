"""The question types. Each type is a class, which contains everything about it: its fields, its possible mistakes, how
it is shown, how an answer is read and graded, how a class's answers are shown, and its form in GIFT."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from workshop.quiz.types.base import Mark, Question

__all__ = ["Mark", "Question", "classes"]

MODULES = {
    **dict.fromkeys(("single", "multiple"), "choice"),
    **{name: name for name in ("number", "order", "match", "text")},
    "poll": "choice",
    **{name: name for name in ("predict", "place")},
}


@cache
def classes() -> Mapping[str, type[Question]]:
    """The class of each type, by the type's name."""
    return {
        name: getattr(import_module(f"workshop.quiz.types.{module}"), name.capitalize())
        for name, module in MODULES.items()
    }
