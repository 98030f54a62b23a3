"""The language of rules: Jinja2's expressions and texts, in its sandbox, over named facts.

What a run does not tell (a metric that is missing, none, or no number) is false and equals nothing. An expression that
calculates with it is false, and a text that needs it can't be said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import AfterValidator

from workshop.core import words
from workshop.report.analysis import scores

UNTOLD = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)  # of facts that a run doesn't tell
FILTERS = {name: getattr(words, name) for name in ("seconds", "size", "percent", "quantity", "count", "long", "ranks")}
FILTERS |= {name: getattr(words, name) for name in ("capital", "listed", "verb", "option", "times")}
FILTERS |= {"score": scores.percent, "points": scores.points}
FILTERS["numbered"] = lambda numbers, word: words.numbered(word, list(numbers))


LINE_BREAK = "\v"  # in a fact whose lines should stay lines, such as what an MPI says


class Untold(StrictUndefined):
    """What a run doesn't tell: false, equal to nothing, and an error in calculations, larger, smaller, and in texts."""

    def __bool__(self) -> bool:  # type: ignore[override]  # which raises
        return False

    def __eq__(self, other: object) -> bool:  # type: ignore[override]  # which raises, too
        return False

    def __ne__(self, other: object) -> bool:  # type: ignore[override]  # likewise
        return True

    __hash__ = None  # type: ignore[assignment]  # as of all classes with an __eq__


class Environment(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox, in which a mapping's own keys come before its methods: metrics.resumed.update."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Untold):  # nor are its parts told
            return obj
        return obj[attribute] if isinstance(obj, Mapping) and attribute in obj else super().getattr(obj, attribute)


ENVIRONMENT = Environment(undefined=Untold, autoescape=False)
ENVIRONMENT.filters |= FILTERS
_expression = cache(lambda text: ENVIRONMENT.compile_expression(text, undefined_to_none=False))
_template = cache(ENVIRONMENT.from_string)


def _readable(compiled: Callable[[str], Any], text: str) -> str:
    try:
        compiled(text)
    except TemplateError as error:
        raise ValueError(f"{words.quoted(text)} is nothing that Jinja2 can read: {error}") from None
    return text


Expression = Annotated[str, AfterValidator(partial(_readable, _expression))]
Text = Annotated[str, AfterValidator(partial(_readable, _template))]


def holds(expression: str, named: Mapping[str, Any]) -> bool:
    """Whether an expression is true; False where the run doesn't tell one of its facts."""
    try:
        return bool(_expression(expression)(**named))
    except UNTOLD:
        return False


def say(text: str, named: Mapping[str, Any]) -> str | None:
    """A text with its facts, on one line; None where the run doesn't tell one of them."""
    try:
        return re.sub(r"[ \n]+", " ", _template(text).render(named)).strip()
    except UNTOLD:
        return None
