"""Questions of placement: the fields that learners fill in, and how the MPI's mapper judges what they composed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any, get_args

from workshop import mpi, registry
from workshop.core import machines
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import THREAD_VARIABLES, Binding, Placement, Resource
from workshop.core.words import count
from workshop.mpi import command_lines, mapper, openmpi
from workshop.mpi.mapper import Prediction
from workshop.quiz import text_input
from workshop.quiz.deck import Place
from workshop.quiz.parts import NearPlacement
from workshop.report.analysis.difference import difference, sentences

# What the fields are called where somebody fills them in, and the words that some have to choose from.
_LABELS = {
    "ranks": "ranks",
    "map_by": "map by",
    "per_resource": "ranks on each such resource",
    "cores_per_rank": "cores per rank",
    "bind_to": "bind to",
    "oversubscribe": "share cores",
    "threads": "threads per rank",
}
_CHOICES: dict[str, tuple[str, ...]] = {"map_by": get_args(Resource), "bind_to": get_args(Binding)}
_WOULD = {
    " ran elsewhere": " would run elsewhere",
    " ran on ": " would run on ",
    " were bound": " would be bound",
    " was bound": " would be bound",
}
_EMPTY = ("per_resource", "threads")  # may be left open
MOST = 1024  # that a placement takes
_TIMES = 4  # so many times as many ranks as the machine has units are still a placement that one may try
_YES, _NO = ("yes", "true"), ("no", "false")


@dataclass(frozen=True)
class PlacementMark:
    """Whether a placement does what was asked for; `feedback` is HTML, `near` are the deck's placements that do the
    same as this wrong one."""

    right: bool
    feedback: tuple[str, ...] = ()
    near: tuple[NearPlacement, ...] = ()


def machine(question: Place) -> MachineDescription:
    """The machine that a question is about. Raises BadInput."""
    return _machine(question.machine)


@cache
def _machine(name: str) -> MachineDescription:
    return machines.read(name)


def fields(question: Place) -> list[dict[str, Any]]:
    """The fields that a question asks for, each as JSON for a form; its value is what it is when nobody touches it."""
    largest = most(machine(question))
    return [_field(name, largest) for name in question.ask]


def _field(name: str, largest: int) -> dict[str, Any]:
    about = Placement.model_fields[name]
    field = {"name": name, "label": _LABELS[name], "help": about.description, "value": about.default}
    if name in _CHOICES:
        return {**field, "kind": "choice", "choices": list(_CHOICES[name])}
    if name == "oversubscribe":
        return {**field, "kind": "yesno"}
    return {**field, "kind": "int", "least": 1, "most": largest}


def most(described: MachineDescription) -> int:
    """The largest number that may be chosen for a field on such a machine."""
    return min(_TIMES * len(described.units), MOST)


def read(question: Place, raw: Any) -> dict[str, Any]:
    """What somebody composed: all fields that were asked for, those that weren't touched at their defaults. Raises
    BadInput with one sentence, also where no MPI could be asked for such a placement."""
    if not isinstance(raw, Mapping):
        raise BadInput("That is no placement; it should have a value for each field.")
    for name in raw:
        if name not in question.ask:
            raise BadInput(f"{str(name)[:40]!r} is not asked for; that is {', '.join(question.ask)}.")
    largest = most(machine(question))
    found = {
        name: _value(name, raw[name], largest) if name in raw else Placement.model_fields[name].default
        for name in question.ask
    }
    compose(question, found)
    return found


def _value(name: str, raw: Any, largest: int) -> Any:
    label = _LABELS[name]
    if name in _CHOICES:
        if not isinstance(raw, str) or raw not in _CHOICES[name]:
            raise BadInput(f"{label} is {str(raw)[:40]!r}; it should be one of {', '.join(_CHOICES[name])}.")
        return raw
    if name == "oversubscribe":
        said = raw.strip().lower() if isinstance(raw, str) else raw
        if said is True or said in _YES:
            return True
        if said is False or said in _NO:
            return False
        raise BadInput(f"{label} is {str(raw)[:40]!r}; it should be yes or no.")
    if name in _EMPTY and (raw is None or (isinstance(raw, str) and not raw.strip())):
        return None
    return text_input.whole(raw, label.capitalize(), 1, largest)


def compose(question: Place, chosen: Mapping[str, Any]) -> Placement:
    """What is given and what was chosen, together. Raises BadInput."""
    return registry.placement({**question.given, **chosen})


def command(question: Place, chosen: Mapping[str, Any]) -> str:
    """The MPI's command for a placement, without its program, and of its variables only what was composed."""
    placement, where = compose(question, chosen), machine(question)
    chosen_mpi = mpi.of(placement.mpi)
    options = chosen_mpi.arguments(placement, where.cores, where.machine)
    if tuple(options[-len(openmpi.MCA) :]) == openmpi.MCA:
        options = options[: -len(openmpi.MCA)]
    if placement.threads is not None:
        options += chosen_mpi.assignments({THREAD_VARIABLES[0]: str(placement.threads)})
    words = [registry.mpi(placement.mpi).command, "-n", str(placement.ranks), *options]
    return " ".join(map(command_lines.quoted, words))


def judge(question: Place, chosen: Mapping[str, Any]) -> PlacementMark:
    """Ask the mapper, whose answer takes a fifth of a second, and compare with what `right` gives.

    Right is whatever puts every rank on the same units, with as many threads. Raises WorkshopError where the mapper
    can't tell, and where the question's own placement is refused.
    """
    wanted, found = expected(question), predict(question, chosen)
    if found.refused is not None:
        return PlacementMark(False, (_refused(compose(question, chosen), found),))
    if _same(question, question.right, wanted, chosen, found):
        return PlacementMark(True)
    near = tuple(
        one
        for one in question.near
        if (other := _predict(question, one.placement)).rank_map is not None
        and _same(question, one.placement, other, chosen, found)
    )
    return PlacementMark(False, _paragraphs([*_elsewhere(wanted, found), *_threads(question, chosen)]), near)


def expected(question: Place) -> Prediction:
    """Where `right` puts the ranks. Raises WorkshopError where the mapper refuses it, or can't tell."""
    found = _predict(question, question.right)
    if found.rank_map is not None:
        return found
    why = found.refused or found.note or "it says nothing"
    raise WorkshopError(f"The mapper gives no map for what is right in {question.id}: {' '.join(why.split())}")


def problems(question: Place) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What the mapper finds wrong in a question, and where: `right` refused, a `near` that does the same. Raises
    WorkshopError where the mapper can't tell."""
    found = predict(question, question.right)
    if found.refused is not None:
        whose = registry.mpi(compose(question, question.right).mpi).title
        yield ("right",), f"{whose} refuses it: {' '.join(found.refused.split())[:300]}"
        return
    untouched = {field["name"]: field["value"] for field in fields(question)}
    if _same(question, question.right, found, untouched, _predict(question, untouched)):
        yield ("right",), "it puts the ranks where they are if nobody chooses anything; it should take a choice"
    for place, near in enumerate(question.near):
        other = predict(question, near.placement)
        if _same(question, question.right, found, near.placement, other):
            yield ("near", place, "placement"), "it puts the ranks where right does, so it counts as right"


def predict(question: Place, chosen: Mapping[str, Any]) -> Prediction:
    """What the mapper says of a placement: a map, or why it refuses. Raises WorkshopError where it can't tell."""
    found = _predict(question, chosen)
    if found.rank_map is None and found.refused is None:
        raise WorkshopError(found.note or f"The mapper says nothing of this placement in {question.id}.")
    return found


_KEPT = 500  # answers of the mapper; a class composes a few dozen different ones
_answers: dict[tuple[str, str], Prediction] = {}


def _predict(question: Place, chosen: Mapping[str, Any]) -> Prediction:
    """The mapper's answer, which stays what it is for the same placement on the same machine."""
    placement = compose(question, chosen)
    key = (placement.model_dump_json(), question.machine)
    if (found := _answers.get(key)) is None:
        found = mapper.predict(placement, machine(question))
        if found.rank_map is not None or found.refused is not None:  # else it couldn't be asked, and perhaps can later
            if len(_answers) >= _KEPT:
                _answers.clear()
            _answers[key] = found
    return found


def _same(
    question: Place, one: Mapping[str, Any], first: Prediction, other: Mapping[str, Any], second: Prediction
) -> bool:
    alike = _seats(first) == _seats(second)
    return alike and compose(question, one).threads_per_rank == compose(question, other).threads_per_rank


def _seats(found: Prediction) -> dict[int, tuple[str, tuple[int, ...]]]:
    reports = (found.rank_map or {}).get("ranks", [])
    return {report["rank"]: (report["host"], tuple(sorted(report["units"]))) for report in reports}


def _elsewhere(wanted: Prediction, found: Prediction) -> Iterator[str]:
    """Which ranks are elsewhere, a sentence each. Nothing has run, which the words of a run's difference would say."""
    meant, placed = len(_seats(wanted)), len(_seats(found))
    if meant != placed:
        yield f"There are {count(placed, 'rank')}, where {_were(meant)} asked for."
        return
    for sentence in sentences(difference(wanted.rank_map, found.rank_map, found.machine)):
        for ran, would in _WOULD.items():
            sentence = sentence.replace(ran, would)
        yield sentence


def _threads(question: Place, chosen: Mapping[str, Any]) -> list[str]:
    wanted = compose(question, question.right).threads_per_rank
    given = compose(question, chosen).threads_per_rank
    return [] if wanted == given else [f"Each rank has {count(given, 'thread')}, where {_were(wanted)} asked for."]


def _were(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'}"


def _refused(placement: Placement, found: Prediction) -> str:
    words = escape(found.refused or "", quote=False)
    if not found.own_words:
        return f"<p>{words}</p>"
    return f"<p>{registry.mpi(placement.mpi).title} {mpi.REFUSES}</p><pre><code>{words}</code></pre>"


def _paragraphs(said: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"<p>{escape(sentence, quote=False)}</p>" for sentence in said)
