"""The question types. Each type is a class with its fields and what can be wrong with them, how it is shown, and how an
answer is read and graded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from workshop.quiz.types.base import DrawnQuestion, Mark, Question
from workshop.quiz.types.choice import Multiple, Poll, Single
from workshop.quiz.types.match import Match, Order
from workshop.quiz.types.number import Number, Predict, Text
from workshop.quiz.types.place import Place

__all__ = ["CLASSES", "AnyQuestion", "DrawnQuestion", "Mark", "Question"]

AnyQuestion = Annotated[
    Single | Multiple | Number | Order | Match | Text | Poll | Predict | Place, Field(discriminator="type")
]
CLASSES: Mapping[str, type[Question]] = {kind.__name__.lower(): kind for kind in get_args(get_args(AnyQuestion)[0])}
