"""Rules: what a run means, as data. A package's `rules.yaml` says *when* a finding holds, and its *verdict*, *why* and
*next*; docs/extending.md describes the file. This module reads such files and evaluates them.

Expressions and texts are Jinja2's, in its sandbox, over named facts. What a run does not tell (a metric that is
missing, none, or no number) has no value. A rule that needs such a fact does not hold, and a sentence that needs it is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, bad_input
from workshop.extension import load
from workshop.report.analysis import scores
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding, finite

FILE = "rules.yaml"
GENERAL = "workshop.report"  # the package whose rules hold for every run
LARGEST, DEEPEST = 256 * 1024, 20
UNTOLD = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)  # of facts that a run doesn't tell
FILTERS = {name: getattr(words, name) for name in ("seconds", "size", "percent", "quantity", "count", "long", "ranks")}
FILTERS |= {name: getattr(words, name) for name in ("capital", "listed", "verb", "option")}
FILTERS |= {"score": scores.percent, "points": scores.points}
FILTERS["numbered"] = lambda numbers, word: words.numbered(word, list(numbers))


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(_Part):
    """One finding. Of several with the same name, the first that holds counts. `times`: its reasons tell how the ranks
    spent their time, so that this isn't said again; `spoils`: the run's result is worth nothing."""

    name: str = ""
    when: str = "true"
    verdict: str
    why: tuple[str, ...] = ()
    next: str
    times: bool = False
    spoils: bool = False


class Use(_Part):
    """A rule of the file that this one is based on, by its name; `when` narrows it."""

    use: str
    when: str = "true"


class Rules(_Part):
    """A file. What it leaves out is as in `based_on`, the package whose rules.yaml it changes.

    `facts` is a reference to a function `(facts, totals) -> mapping` of further facts, and `sentences` are texts that
    can be used like facts. `faults` are told each, the worst first. Of `outcome`, what the run achieved, the first that
    holds is the verdict where no check holds, with `first` in any case. `checks` find what kept the run from being
    faster. `otherwise` is said of a run of which nothing else can be said. `remarks` come last. The sentence `shares`
    says how the ranks spent their time.
    """

    based_on: str = GENERAL
    facts: str = ""
    sentences: dict[str, str] = {}
    first: bool | None = None
    faults: tuple[Rule, ...] | None = None
    outcome: tuple[Rule, ...] = ()  # which come before those that it is based on
    checks: tuple[Rule | Use, ...] | None = None
    remarks: tuple[str, ...] | None = None
    otherwise: tuple[Rule, ...] | None = None


class Untold(StrictUndefined):
    """What a run doesn't tell: false, equal to nothing, and an error in calculations, larger, smaller, and in texts."""

    def __bool__(self) -> bool:  # type: ignore[override]  # which raises
        return False

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return False

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return True

    __hash__ = None  # type: ignore[assignment]


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


@cache
def read(package: str) -> tuple[Rules, ...]:
    """The rules of a package, then those that they are based on, up to the general ones. Raises BadInput with one
    sentence, which names the file."""
    path = Path(str(files(package))) / FILE
    try:
        node, loader = yaml_files.compose(yaml_files.read_text(path, LARGEST, "a workload's rules"), DEEPEST)
        for line, fault in yaml_files.bad_keys(node):
            raise BadInput(f"{path}, line {line}: {fault}")
        rules = Rules.model_validate(yaml_files.document(node, loader) or {})
        for part in parts(rules):
            _expression(part.when)
            for text in (part.verdict, *part.why, part.next) if isinstance(part, Rule) else ():
                _template(text)
        for text in (*rules.sentences.values(), *(rules.remarks or ())):
            _template(text)
    except yaml_files.Unreadable as error:
        raise BadInput(f"{path} {error}") from None
    except ValidationError as error:
        raise bad_input(error, str(path)) from error
    except TemplateError as error:
        raise BadInput(f"{path} has a text or an expression that Jinja2 can't read: {error}.") from None
    return (rules, *(read(rules.based_on) if package != GENERAL else ()))


def parts(rules: Rules) -> Iterator[Rule | Use]:
    """All rules of one file."""
    for section in (rules.faults, rules.outcome, rules.checks, rules.otherwise):
        yield from section or ()


def section(chain: Sequence[Rules], name: str) -> Any:
    """A section of a file, or of the first file that it is based on and that has it; () where none has. Outcomes are
    those of all these files."""
    if name == "outcome":
        return [rule for rules in chain for rule in rules.outcome]
    return next((value for rules in chain if (value := getattr(rules, name)) is not None), ())


def context(chain: Sequence[Rules], facts: Facts, totals: Totals) -> dict[str, Any]:
    """All facts and sentences by their names, as far as the run tells them."""
    named = finite(facts.named())
    for rules in reversed(chain):
        named |= finite(load(rules.facts)(facts, totals)) if rules.facts else {}
    for rules in reversed(chain):
        for name, text in rules.sentences.items():
            if (sentence := say(text, named)) is not None:
                named[name] = sentence
    return named


def checks(chain: Sequence[Rules]) -> list[tuple[str, Rule]]:
    """The checks of a file in order; each with what has to hold beside its own *when*."""
    found: list[tuple[str, Rule]] = []
    at = next(number for number, rules in enumerate(chain) if rules.checks is not None)
    for part in chain[at].checks or ():
        if isinstance(part, Rule):
            found.append(("true", part))
            continue
        named = [(also, rule) for also, rule in checks(chain[at + 1 :]) if rule.name == part.use]
        if not named:
            raise BadInput(f"The rules use a check {part.use!r}, which the rules that they are based on don't have.")
        found += [(f"({part.when}) and ({also})", rule) for also, rule in named]
    return found


def holding(rules: Iterable[tuple[str, Rule]], named: Mapping[str, Any]) -> Iterator[tuple[Rule, Finding]]:
    """The rules that hold, with what they say."""
    told = set()
    for also, rule in rules:
        if (rule.name and rule.name in told) or not (holds(also, named) and holds(rule.when, named)):
            continue
        verdict, following = say(rule.verdict, named), say(rule.next, named)
        if verdict and following:
            why = " ".join(filter(None, (say(text, named) for text in rule.why)))
            told.add(rule.name)
            yield rule, Finding(verdict, why, following, rule.times)


def holds(expression: str, named: Mapping[str, Any]) -> bool:
    """Whether an expression is true; False where the run doesn't tell one of its facts."""
    try:
        return bool(_expression(expression)(**named))
    except UNTOLD:
        return False


def say(text: str, named: Mapping[str, Any]) -> str | None:
    """A text with its facts; None where the run doesn't tell one of them."""
    try:
        return re.sub(r"[ \n]+", " ", _template(text).render(named)).strip()
    except UNTOLD:
        return None
