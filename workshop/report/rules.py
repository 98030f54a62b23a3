"""Rules: what a run means, as data. A package's `rules.yaml` says *when* a finding holds, and its *verdict*, *why* and
*next*, in Jinja2's expressions and texts over named facts; docs/extending.md describes the file.

What a run does not tell (a metric that is missing, none, or no number) is false and equals nothing. An expression that
calculates with it is false, and a sentence that needs it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import AfterValidator, BaseModel, ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, bad_input
from workshop.extension import load
from workshop.report.analysis import findings
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding, finite

UNTOLD = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError)  # of facts that a run doesn't tell
FILTERS = {name: getattr(words, name) for name in ("seconds", "size", "percent", "quantity", "count", "long", "ranks")}
FILTERS |= {name: getattr(words, name) for name in ("capital", "listed", "verb", "option", "times")}
FILTERS |= {"score": findings.percent, "points": findings.points}
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


FILE = "rules.yaml"
GENERAL = "workshop.report"  # the package whose rules hold for every run
LARGEST = 256 * 1024
SEPARATE = {"based_on", "facts", "sentences"}  # parts that are a file's own; those that it is based on have theirs


class Rule(BaseModel, frozen=True, extra="forbid"):
    """One finding. Of several with the same name, the first that holds counts. `times`: its reasons tell how the ranks
    spent their time, so that this isn't said again; `spoils`: the run's result is worth nothing."""

    name: str = ""
    when: Expression = "true"
    verdict: Text
    why: tuple[Text, ...] = ()
    next: Text
    times: bool = False
    spoils: bool = False


class Rules(BaseModel, frozen=True, extra="forbid"):
    """A file. What it leaves out is as in `based_on`, the package whose rules.yaml it changes; its outcomes come first.

    `facts` refers to a function `(facts, totals) -> mapping` of further facts; `sentences` can be used like facts.
    `faults` are told each, the worst first. The first `outcome` that holds is the verdict where no check holds, with
    `first` in any case. `checks` find what kept the run from being faster. `otherwise` is for a run of which nothing
    else can be said. `remarks` come last. The sentence `shares` says how the ranks spent their time."""

    based_on: str = GENERAL
    facts: str = ""
    sentences: dict[str, Text] = {}
    first: bool = False
    faults: tuple[Rule, ...] = ()
    outcome: tuple[Rule, ...] = ()
    checks: tuple[Rule, ...] = ()
    remarks: tuple[Text, ...] = ()
    otherwise: tuple[Rule, ...] = ()


@cache
def read(package: str) -> Rules:
    """The rules of a package, with what they leave out. Raises BadInput with one sentence, which names the file."""
    path = Path(package.replace(".", "/")) / FILE  # until it is known where the package is
    try:
        path = Path(str(files(package))) / FILE
        document = yaml_files.document(*yaml_files.compose(yaml_files.read_text(path, LARGEST, "a workload's rules")))
        if not isinstance(document, dict):
            raise BadInput(f"{path} should have parts such as outcome, each with its name.")
        if based_on := document.get("based_on", GENERAL):
            base = read(based_on)
            if "checks" in document:
                document["checks"] = [rule for entry in document["checks"] for rule in _used(entry, base, path)]
            if "outcome" in document:
                document["outcome"] += base.outcome
            document = base.model_dump(exclude=SEPARATE) | document
        return Rules.model_validate(document)
    except yaml_files.Unreadable as error:
        raise BadInput(f"{path} {error}") from None
    except ModuleNotFoundError as error:
        raise BadInput(f"{path} can't be read ({error}).") from None
    except ValidationError as error:
        raise bad_input(error, str(path)) from error


def _used(entry: Any, base: Rules, path: Path) -> list[Any]:
    """A check, or those of the base that an entry takes over by their name, narrowed by its `when`."""
    if not isinstance(entry, dict) or "use" not in entry:
        return [entry]
    rules = [rule for rule in base.checks if rule.name == entry["use"]]
    used = [rule.model_dump() | {"when": f"({entry.get('when', 'true')}) and ({rule.when})"} for rule in rules]
    if not used or entry.keys() - {"use", "when"}:
        raise BadInput(f"{path} uses a check {entry['use']!r}: that should be one that it is based on, and a when.")
    return used


def context(rules: Rules, facts: Facts, totals: Totals) -> dict[str, Any]:
    """All facts and sentences by their names, as far as the run tells them."""
    named = context(read(rules.based_on), facts, totals) if rules.based_on else finite(facts.named())
    named |= finite(load(rules.facts)(facts, totals)) if rules.facts else {}
    return with_sentences(rules.sentences, named)


def with_sentences(sentences: Mapping[str, str], named: Mapping[str, Any]) -> dict[str, Any]:
    """The facts and those of the sentences that they allow; a sentence may use the ones before it."""
    all_named = dict(named)
    for name, text in sentences.items():
        if (sentence := say(text, all_named)) is not None:
            all_named[name] = sentence
    return all_named


def holding(rules: Iterable[Rule], named: Mapping[str, Any]) -> Iterator[tuple[Rule, Finding]]:
    """The rules that hold, with what they say."""
    names: set[str] = set()
    for rule in rules:
        if (rule.name and rule.name in names) or not holds(rule.when, named):
            continue
        verdict, following = say(rule.verdict, named), say(rule.next, named)
        if verdict and following:
            why = " ".join(filter(None, (say(text, named) for text in rule.why)))
            names.add(rule.name)
            yield rule, Finding(verdict, why, following, rule.times)
