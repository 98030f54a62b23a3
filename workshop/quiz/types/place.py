"""Compose a placement: the fields that learners fill in, and grading with the MPI's mapper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from workshop import mpi
from workshop.core import machines, words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import THREAD_VARIABLES, Binding, Placement, Resource
from workshop.core.words import count
from workshop.mpi import command_lines, mapper, openmpi
from workshop.mpi.implementations import IMPLEMENTATIONS, implementation, read_placement
from workshop.mpi.mapper import Prediction
from workshop.quiz import text_input
from workshop.quiz.form_errors import Mistake, Where, model_problems, mpi_problems
from workshop.quiz.parts import Composed, Line, NearPlacement, Picture
from workshop.quiz.rendering import ANSWERS, html
from workshop.quiz.types.base import DrawnQuestion, Mark, Question
from workshop.report.analysis.difference import difference, sentences

# The labels of the form's fields that aren't their names, and the choices of some fields.
_LABELS = {"per_resource": "ranks on each such resource", "oversubscribe": "share cores", "threads": "threads per rank"}
_CHOICES: dict[str, tuple[str, ...]] = {"map_by": get_args(Resource), "bind_to": get_args(Binding)}
_EMPTY = ("per_resource", "threads")  # fields that may be empty
MOST_IN_FIELD = 1024  # the largest number in a field
_TIMES = 4  # the largest number in a field, as a multiple of the machine's units
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
MOST_CACHED = 500  # answers of the mapper; a class composes a few dozen different ones


class Place(Question):
    """Compose a placement. Every answer that puts the same ranks on the same cores as `right` is right.

    The question sets the fields of `given`; learners choose the fields of `ask`.
    """

    what: ClassVar[str] = "a placement to be composed"
    form: ClassVar[str] = "fields"
    slow: ClassVar[bool] = True

    type: Literal["place"] = Field(description="compose a placement")
    machine: Line = Field("2x4x2", description="a shape like 2x4x2, or this")
    given: dict[str, Any] = Field({}, description="fields of the placement that are decided already")
    ask: tuple[Composed, ...] = Field(min_length=1, max_length=7, description="fields that learners fill in")
    right: dict[str, Any] = Field(description="fields of ask with which it is right; others stay at their defaults")
    near: tuple[NearPlacement, ...] = Field((), max_length=10, description="wrong ones with feedback of their own")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        for path, chosen in self._composed():
            for name in sorted(set(chosen) - set(self.ask)):
                where = ".".join(map(str, path[:2]))
                yield (*path, name), f"{where}: {name} should be in ask, or in given"
        for name in sorted(set(self.given) & set(self.ask)):
            yield ("given", name), f"given: {name} can't be given and asked for"

    def problems(self) -> Iterator[Mistake]:
        try:
            largest = self.most
        except BadInput as error:
            yield ("machine",), str(error)
            return
        if len(set(self.ask)) < len(self.ask):
            yield ("ask",), "ask has a field twice"
        family = IMPLEMENTATIONS.get(str(self.given.get("mpi")))
        if family is not None and not family.mapper:
            right = words.listed((name for name, other in IMPLEMENTATIONS.items() if other.mapper), "or")
            yield ("given", "mpi"), f"{family.title}'s mapper can't be asked; mpi should be {right}"
        given = model_problems(Placement, self.given, ("given",))
        yield from ((path, text) for path, text in given if len(path) > 1)
        yield from mpi_problems(self.given, ("given",))
        for path, chosen in self._composed():
            yield from model_problems(Placement, chosen, path, self.given)
            for name, value in chosen.items():
                if isinstance(value, int) and not isinstance(value, bool) and value > largest:
                    yield (*path, name), f"{name} is {value}; on {self.machine} one can choose up to {largest}"

    @property
    def most(self) -> int:
        """The largest number in a field of the form. Raises BadInput for an unknown machine."""
        return min(_TIMES * len(machine(self.machine).units), MOST_IN_FIELD)

    def _composed(self) -> Iterator[tuple[Where, Mapping[str, Any]]]:
        """The placements in the deck, with their places in the question."""
        yield ("right",), self.right
        for place, near in enumerate(self.near):
            yield ("near", place, "placement"), near.placement

    def slow_problems(self) -> Iterator[Mistake]:
        """Report a `right` that the mapper refuses, and a `near` that places ranks like `right`. Raises WorkshopError
        if the mapper fails."""
        right = predict(self, self.right)
        if right.refused is not None:
            title = implementation(compose(self, self.right).mpi).title
            yield ("right",), f"{title} refuses it: {' '.join(right.refused.split())[:300]}"
            return
        if _same(self, self.right, {name: Placement.model_fields[name].default for name in self.ask}):
            yield ("right",), "it puts the ranks where they are if nobody chooses anything; it should take a choice"
        for place, near in enumerate(self.near):
            if _same(self, self.right, near.placement):
                yield ("near", place, "placement"), "it puts the ranks where right does, so it counts as right"

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        decided = ", ".join(f"{name.replace('_', ' ')} {_plainly(value)}" for name, value in self.given.items())
        fields = [_field(name, self.most) for name in self.ask]
        parts = {"fields": fields, "given": decided, "machine": machine(self.machine).name}
        return super().view(variant, picture) | parts

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        line = command(self, self.right)
        return super().solution(variant) | {"html": ANSWERS.code(line), "placement": dict(self.right), "command": line}

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        yield f"On {self.machine}; choose {words.listed(self.ask)}", "   ", "   "

    def right_words(self, variant: DrawnQuestion) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.right.items())

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        """Read the fields of `ask`; missing fields get their defaults. Raises BadInput with one sentence, also if the
        MPI can't do such a placement."""
        if not isinstance(raw, Mapping):
            raise BadInput("That is no placement; it should have a value for each field.")
        for name in raw:
            if name not in self.ask:
                raise BadInput(f"{str(name)[:40]!r} is not asked for; that is {', '.join(self.ask)}.")
        defaults = {name: Placement.model_fields[name].default for name in self.ask}
        chosen = defaults | {name: _value(name, value, self.most) for name, value in raw.items()}
        compose(self, chosen)
        return chosen

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        """Ask the mapper, which takes a fifth of a second: an answer is right if every rank is on the same units as
        with `right`, with as many threads. Raises WorkshopError if the mapper fails, or refuses `right`."""
        right, result = predict(self, self.right), predict(self, answer)
        if right.refused is not None:
            why = " ".join(right.refused.split())
            raise WorkshopError(f"The mapper gives no map for what is right in {self.id}: {why}")
        if result.refused is not None:
            title = f"{implementation(compose(self, answer).mpi).title} {mpi.REFUSES}"
            refusal = ANSWERS.code(result.refused, title) if result.own_words else ANSWERS.words(result.refused)
            return Mark(0.0, False, (refusal,))
        if _same(self, self.right, answer):
            return Mark(1.0, True)
        near = [html(near.feedback, variant.numbers) for near in self.near if _same(self, near.placement, answer)]
        differences = [*_elsewhere(right, result)]
        expected, threads = (compose(self, chosen).threads_per_rank for chosen in (self.right, answer))
        if threads != expected:
            differences.append(f"Each rank has {count(threads, 'thread')}, where {_were(expected)} asked for.")
        return Mark(0.0, False, (*near, *map(ANSWERS.words, differences)))

    def hits(self, variant: DrawnQuestion, near: Any, answer: Any) -> bool:
        """Whether the placements are equal. Others might map equally, but that would need the mapper."""
        return compose(self, near.placement) == compose(self, answer)


def placed(chosen: Mapping[str, Any]) -> str:
    """A composed placement in words, without empty fields."""
    return ", ".join(f"{name} {value}" for name, value in sorted(chosen.items()) if value is not None)


def _plainly(value: Any) -> str:
    """A value of a placement in words; hosts are written as on a command line."""
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, Mapping):
        pairs = (f"{name}={item}" for name, item in value.items())
        return "{name}:{slots}".format_map(value) if value.keys() == {"name", "slots"} else words.listed(pairs)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words.listed(map(_plainly, value))
    return str(value)


machine = cache(machines.read)


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))


def _field(name: str, largest: int) -> dict[str, Any]:
    """A field of the form, as JSON; `value` is the default."""
    about = Placement.model_fields[name]
    field = {"name": name, "label": _label(name), "help": about.description, "value": about.default}
    if name in _CHOICES:
        return {**field, "kind": "choice", "choices": list(_CHOICES[name])}
    return {**field, **({"kind": "yesno"} if name == "oversubscribe" else {"kind": "int", "least": 1, "most": largest})}


def _value(name: str, raw: Any, largest: int) -> Any:
    if name in _EMPTY and not str("" if raw is None else raw).strip():
        return None
    if name not in _CHOICES and name != "oversubscribe":
        return text_input.whole_number(raw, _label(name).capitalize(), 1, largest)
    values = {choice: choice for choice in _CHOICES[name]} if name in _CHOICES else _YES_NO
    typed = str(raw).strip().lower()
    if typed not in values:
        right = f"one of {', '.join(values)}" if name in _CHOICES else "yes or no"
        raise BadInput(f"{_label(name)} is {str(raw)[:40]!r}; it should be {right}.")
    return values[typed]


def compose(question: Place, chosen: Mapping[Any, Any]) -> Placement:
    """The placement of the question's fields and the chosen ones. Raises BadInput."""
    return read_placement({**question.given, **chosen})


def command(question: Place, chosen: Mapping[str, Any]) -> str:
    """The MPI's command for a placement, without the program; of its variables it sets only the chosen threads."""
    placement, where = compose(question, chosen), machine(question.machine)
    chosen_mpi = mpi.module_of(placement.mpi)
    options = chosen_mpi.arguments(placement, where.cores, where.machine)
    if tuple(options[-len(openmpi.MCA) :]) == openmpi.MCA:
        options = options[: -len(openmpi.MCA)]
    if placement.threads is not None:
        options += chosen_mpi.assignments({THREAD_VARIABLES[0]: str(placement.threads)})
    parts = [implementation(placement.mpi).command, "-n", str(placement.ranks), *options]
    return " ".join(map(command_lines.quoted, parts))


def predict(question: Place, chosen: Mapping[str, Any]) -> Prediction:
    """The mapper's answer for a placement: a map, or why it refuses. Raises WorkshopError if the mapper fails."""
    return _predict(compose(question, chosen).model_dump_json(), question.machine)


@lru_cache(MOST_CACHED)  # of answers only: a mapper that failed may work later
def _predict(placement: str, machine_name: str) -> Prediction:
    prediction = mapper.predict(Placement.model_validate_json(placement), machine(machine_name))
    if prediction.rank_map is None and prediction.refused is None:
        raise WorkshopError(prediction.note or "The mapper says nothing of this placement.")
    return prediction


def _same(question: Place, first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two placements put the same ranks on the same units, with as many threads. Raises WorkshopError."""
    threads = {compose(question, chosen).threads_per_rank for chosen in (first, second)}
    return len(threads) == 1 and _units(predict(question, first)) == _units(predict(question, second))


def _units(prediction: Prediction) -> dict[int, tuple[str, tuple[int, ...]]]:
    reports = (prediction.rank_map or {}).get("ranks", [])
    return {report["rank"]: (report["host"], tuple(sorted(report["units"]))) for report in reports}


def _elsewhere(expectation: Prediction, prediction: Prediction) -> Iterator[str]:
    """A sentence for each rank that is elsewhere."""
    expected_count, predicted_count = len(_units(expectation)), len(_units(prediction))
    if expected_count != predicted_count:
        yield f"There are {count(predicted_count, 'rank')}, where {_were(expected_count)} asked for."
        return
    yield from sentences(difference(expectation.rank_map, prediction.rank_map, prediction.machine))


def _were(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'}"
