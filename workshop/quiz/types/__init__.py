"""The question types. Each type is a class, which contains everything about it: its fields, its
possible mistakes, how it is shown, how an answer is read and graded, how a class's answers are shown, and its form in
other programs' files. Extensions add types with `workshop.extension.QuestionType`."""

from __future__ import annotations

from collections.abc import Mapping

from workshop.extension import load
from workshop.quiz.types.base import Mark, Question
from workshop.registry import question_types

__all__ = ["Mark", "Question", "classes"]


def classes() -> Mapping[str, type[Question]]:
    """The class of each type that is installed, by the type's name."""
    return {type.name: load(type.question) for type in question_types().values()}
