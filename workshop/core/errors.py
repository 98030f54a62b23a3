"""Errors that a person reads: one sentence with what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

OUT_OF_MEMORY = "OutOfMemory"  # type of the error of a run whose ranks had more memory than there was
_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")


class WorkshopError(Exception):
    """Something went wrong that the user has to know of; its text is one sentence. Ends a command with 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """A notebook shows the sentence instead of a traceback, by IPython's convention."""
        return [str(self)]


class BadInput(WorkshopError):
    """The user gave something that can't be used; its text says what would be right. Ends a command with 2."""

    exit_code = 2


def bad_input(error: ValidationError, what: str = "") -> BadInput:
    """Turn pydantic's report into one sentence, with every field that is wrong.

    `what` names the thing that was given ("kmeans", "the placement") and may be empty.
    """
    parts = [in_words(problem, ".".join(map(str, problem["loc"]))) for problem in error.errors(include_url=False)]
    return BadInput((f"{what}: " if what else "") + "; ".join(parts))


def in_words(problem: Mapping[str, Any], field: str) -> str:
    """One of pydantic's errors in words; `field` is what the wrong field is called, and may be empty."""
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"{field}: {message}" if field and field not in message else message
    if problem["type"] == "extra_forbidden":
        return f"{field} is not one of its settings"
    if problem["type"] == "missing":
        return f"{field} is missing"
    return f"{field} is {_excerpt(problem['input'])}: it should {_expected(problem['type'], message)}"


def _excerpt(value: object) -> str:
    """A given value in short; a number in text looks like a number."""
    text = value if isinstance(value, str) and _NUMBER.fullmatch(value) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# By the beginning of pydantic's types of error, what would be right.
_EXPECTED = {
    "int_parsing_size": "be a smaller whole number",
    "int": "be a whole number",
    "float": "be a number",
    "bool": "be yes or no",
    "string_type": "be text",
    "tuple_type": "be a list",
}
_PREAMBLE = re.compile(r"[A-Z][a-z]+ should ")
_QUOTED = re.compile(r"'([^',]+)'")


def _expected(kind: str, message: str) -> str:
    """The words behind "it should": pydantic's message without its preamble, in fewer words."""
    for prefix, words in _EXPECTED.items():
        if kind.startswith(prefix):
            return words
    if not _PREAMBLE.match(message):
        return f"be something else ({message})"
    words = _PREAMBLE.sub("", message, count=1).replace("be a valid ", "be a ")
    if kind.endswith("too_short") and " at least 1 " in words:
        return "not be empty"
    if kind == "literal_error":
        return _QUOTED.sub(r"\1", words)
    return words.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
