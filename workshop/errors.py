"""Errors that a person reads: one sentence with what is wrong, where, and what would be right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class WorkshopError(Exception):
    """Something went wrong that the user has to know of; its text is one sentence. Ends a command with 1."""

    exit_code = 1


class BadInput(WorkshopError):
    """The user gave something that can't be used; its text says what would be right. Ends a command with 2."""

    exit_code = 2


def bad_input(error: ValidationError, what: str = "") -> BadInput:
    """Turn pydantic's report into one sentence, with every field that is wrong.

    `what` names the thing that was given ("kmeans", "the placement") and may be empty.
    """
    parts = []
    for problem in error.errors(include_url=False):
        field = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "value_error":
            parts.append(f"{field}: {message}" if field and field not in message else message)
        elif problem["type"] == "extra_forbidden":
            parts.append(f"{field} is not one of its settings")
        elif problem["type"] == "missing":
            parts.append(f"{field} is missing")
        else:
            given = repr(problem["input"])
            given = given if len(given) <= 60 else given[:57] + "..."
            expected = message[0].lower() + message[1:]
            parts.append(f"{field} is {given}: {expected.replace('input should', 'it should')}")
    return BadInput((f"{what}: " if what else "") + "; ".join(parts))
