"""Questions asked by hand: what a browser sends, in the words of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workshop.quiz.parts import Picture
from workshop.quiz.types import DrawnQuestion, Mark


def answer(drawn: DrawnQuestion, raw: Any) -> Any:
    return drawn.question.read(drawn, raw)


def raw(drawn: DrawnQuestion, answer: Any) -> Any:
    return drawn.question.sent(drawn, answer)


def shown(drawn: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
    return drawn.question.view(drawn, picture)


def solution(drawn: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
    return drawn.question.solution(drawn, truth)


def grade(drawn: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
    return drawn.question.grade(drawn, answer, truth)
