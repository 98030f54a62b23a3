"""Axes of a grid and its cells, also as words of a command line: name=value,value. Pure.

An axis has the name of the field that it varies: `ranks`, `threads`, `map_by`, … of the placement, `env.NAME` for a
variable of the ranks, or a param of the workload. A param may also be written `params.NAME`, which is necessary if the
placement has a field of that name. A variable with the value None is unset.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from workshop.core import words
from workshop.core.errors import BadInput, bad_input
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.mpi.implementations import implementation, read_placement
from workshop.study.trials import Cell

PLACING = ("ranks", "threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "mpi")
PARAM = "params."
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

Axes = Mapping[str, Sequence[Any]]


def read_axes(requested: Mapping[str, Any], workload: Workload) -> dict[str, list[Any]]:
    """Axes with checked values, in the order of `requested`. Raises BadInput."""
    if not requested:
        raise BadInput("The grid is empty: name at least one thing to vary, such as ranks with the values 1 and 2.")
    axes: dict[str, list[Any]] = {}
    for written, values in requested.items():
        name = _canonical(written, workload)
        if name in axes:
            raise BadInput(f"{name} is varied twice; give all its values at once.")
        axes[name] = _values(name, values, workload)
    return axes


def names(workload: Workload) -> list[str]:
    """The names of all axes, without environment variables."""
    params = [f"{PARAM}{name}" if name in PLACING else name for name in workload.params.model_fields]
    return [*PLACING, *params]


def field_of(name: str, workload: Workload) -> FieldInfo | None:
    """The field that an axis varies; None for a variable."""
    if name.startswith(VARIABLE):
        return None
    if name in PLACING:
        return Placement.model_fields[name]
    return workload.params.model_fields[name.removeprefix(PARAM)]


def count(axes: Axes) -> int:
    """How many cells a grid has."""
    return math.prod(len(values) for values in axes.values())


def points(axes: Axes) -> Iterator[dict[str, Any]]:
    """All points of a grid; the last axis turns fastest."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def cell(
    point: Mapping[str, Any],
    workload: Workload,
    params: Mapping[str, Any],
    placement: Mapping[str, Any],
    shared: bool,
) -> Cell:
    """The cell at a point. An impossible cell has the reason in its `why`.

    `shared`: all ranks together do the work of a step, so each rank gets its part of the workload's `Scaling.share`.
    """
    values = {**params, **params_at(point)}
    where = placed(placement, point)
    name = label(point)
    try:
        checked_placement = read_placement(where)
        if shared:
            values = _divided(workload, values, checked_placement.ranks)
        checked = workload.check(values).model_dump(mode="json")
    except BadInput as error:
        why = " ".join(str(error).split())
        return Cell(name, values, where, dict(point), why if why.endswith((".", "!", "?")) else f"{why}.")
    return Cell(name, checked, checked_placement.as_json(), dict(point))


def params_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """The workload's params that a point sets."""
    param_values = {
        name: value for name, value in point.items() if name not in PLACING and not name.startswith(VARIABLE)
    }
    return {name.removeprefix(PARAM): value for name, value in param_values.items()}


def placed(placement: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """The placement at a point, unchecked."""
    variables = dict(placement.get("environment", {}))
    for name, value in point.items():
        if name.startswith(VARIABLE):
            variables.pop(name.removeprefix(VARIABLE), None)
            if value is not None:
                variables[name.removeprefix(VARIABLE)] = value
    fields = {name: value for name, value in point.items() if name in PLACING}
    return {**placement, **fields, "environment": variables}


def _divided(workload: Workload, values: Mapping[str, Any], ranks: int) -> dict[str, Any]:
    share = workload.scaling.share if workload.scaling is not None else ""
    if not share:
        return dict(values)
    share_total = values.get(share, workload.params.model_fields[share].default)
    if not isinstance(share_total, int):
        share_total = getattr(workload.check(values), share)
    if share_total % ranks:
        raise BadInput(f"{share} is {share_total}, which {ranks} ranks can't divide among them.")
    return {**values, share: share_total // ranks}


def _canonical(written: Any, workload: Workload) -> str:
    """The name of an axis. Raises BadInput for an unknown axis, with the most similar name."""
    name = str(written).strip()
    if name.startswith(VARIABLE):
        if not _NAME.fullmatch(name.removeprefix(VARIABLE)):
            raise BadInput(
                f"{name[:60]!r} can't be varied: env. has to be followed by the name of a variable, as in env.NAME."
            )
        return name
    plain = name.removeprefix(PARAM)
    if plain in workload.params.model_fields and (name.startswith(PARAM) or plain not in PLACING):
        return f"{PARAM}{plain}" if plain in PLACING else plain
    if name in PLACING:
        return name
    axis_names = names(workload)
    near = difflib.get_close_matches(name, axis_names, 1, 0.6)
    guess = f" Did you mean {near[0]}?" if near else ""
    raise BadInput(
        f"{name[:60]!r} is nothing that a study of {workload.name} can vary; that is env.NAME, {', '.join(axis_names)}."
        f"{guess}"
    )


def _values(name: str, requested: Any, workload: Workload) -> list[Any]:
    if isinstance(requested, (str, bytes, Mapping)) or not isinstance(requested, Sequence):
        raise BadInput(f"{name} should have a list of values, such as [1, 2]; it has {str(requested)[:60]!r}.")
    if not requested:
        raise BadInput(f"{name} has no values, so the grid is empty; give at least one.")
    values = [_value(name, value, workload) for value in requested]
    for at, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:at]):
            raise BadInput(f"{name} has the value {value} twice; repeats says how often each is run.")
    return values


def _value(name: str, requested: Any, workload: Workload) -> Any:
    """One value as its field has it, in JSON's types. Raises BadInput."""
    info = field_of(name, workload)
    if info is None:
        return _variable(name, requested)
    annotation: Any = Annotated[info.annotation, info]
    adapter = TypeAdapter[Any](annotation)
    try:
        value = adapter.dump_python(adapter.validate_python(requested), mode="json")
    except ValidationError as error:
        raise BadInput(_about(name, error)) from error
    return implementation(value).name if name == "mpi" else value


def _variable(name: str, requested: Any) -> str | None:
    if requested is None:
        return None
    if isinstance(requested, bool) or not isinstance(requested, (str, int, float)):
        raise BadInput(f"{name} should have texts or numbers as values; it has {str(requested)[:60]!r}.")
    return str(requested)


def _about(name: str, error: ValidationError) -> str:
    """The error in a value of an axis. Pydantic puts the members of a union in the place of the field's name."""
    message = str(bad_input(error)).split("; ")[0]
    _, separator, rest = message.partition(" is ") if not message.startswith("is ") else ("", "is ", message[3:])
    return f"{name} is {rest}." if separator else f"{name}: {message}."


# How fields of a placement read; all others read as their name and value.
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "ranks": lambda value: words.count(value, "rank"),
    "threads": lambda value: "threads as cores" if value is None else words.count(value, "thread"),
    "map_by": lambda value: f"by {value}",
    "per_resource": lambda value: "dealt out" if value is None else f"{value} per resource",
    "cores_per_rank": lambda value: f"{words.count(value, 'core')} per rank",
    "bind_to": lambda value: "unbound" if value == "none" else f"bound to {value}",
    "oversubscribe": lambda value: "cores shared" if value else "cores not shared",
    "mpi": lambda value: str(value),
}


def label(point: Mapping[str, Any]) -> str:
    """The label of a point: `2 ranks, 1 thread, exchange mpi`."""
    return ", ".join(coordinate(name, value) for name, value in point.items())


def coordinate(axis: str, value: Any) -> str:
    """One value of one axis."""
    if axis in _WORDS:
        return _WORDS[axis](value)
    if axis.startswith("env."):
        name = axis.removeprefix("env.")
        return f"no {name}" if value is None else f"{name}={value}"
    return f"{axis.removeprefix('params.')} {value_label(value)}"


def value_label(value: Any) -> str:
    """A value without its axis, for heads of rows and columns."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else "none" if value == "" else str(value)


VARIABLE = "env."  # begins the name of an axis that is an environment variable of the ranks
UNSET = ("unset", "default", "")  # how a value that is none is written


def read_settings(words: Sequence[str], workload: Workload) -> dict[str, Any]:
    """Params from words like "batch=32". Raises BadInput for other words, and for a name that is set twice.

    Files get their absolute path, because the study may be resumed from another folder.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not equals or not name:
            raise BadInput(f"--set {word} should be like --set name=value.")
        if name in values:
            raise BadInput(f"{name} is set twice: {values[name]} and {value}.")
        values[name] = whole_path(workload, name, value)
    return values


def read_options(words: Sequence[str]) -> list[str]:
    """The workload's own options, as in `workshop run` (--batch 32 or --batch=32), as words for `read_settings`. Raises
    BadInput for other words."""
    rest, assignments = list(words), []
    while rest:
        option = rest.pop(0)
        if not option.startswith("--") or len(option) < 3:
            raise BadInput(f"{option} is no option; a workload's setting is given as --set name=value.")
        if "=" not in option:
            if not rest or rest[0].startswith("--"):
                raise BadInput(f"{option} has no value; write {option} VALUE.")
            option = f"{option}={rest.pop(0)}"
        assignments.append(option.removeprefix("--"))
    return assignments


def vary_words(words: Sequence[str]) -> dict[str, list[str | None]]:
    """Axes from words like "ranks=1,2,4". Values that contain commas are separated by | instead. Raises BadInput."""
    axes: dict[str, list[str | None]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip()
        if not equals or not name:
            raise BadInput(f"--vary {word} should be like --vary ranks=1,2,4.")
        if not name.startswith(VARIABLE):
            name = name.replace("-", "_")
        if name in axes:
            raise BadInput(f"{name} is varied twice; give all its values at once.")
        values = [value.strip() for value in text.split("|" if "|" in text else ",")]
        if values == [""]:
            raise BadInput(f"--vary {word} has no values; it should be like --vary ranks=1,2,4.")
        axes[name] = [None if value in UNSET else value for value in values]
    return axes


def whole_path(workload: Workload, name: str, value: str, folder: Path | None = None) -> str:
    """The absolute path of a file that a param names, relative to `folder` (default: the current one); other values
    unchanged."""
    field = workload.params.model_fields.get(name)
    extra = field.json_schema_extra if field is not None else None
    about = extra.get("file") if isinstance(extra, dict) else None
    choices = about.get("choices") if isinstance(about, dict) else None
    if not isinstance(about, dict) or (isinstance(choices, list) and value in choices) or value.isdecimal():
        return value  # a built-in choice, or a run's number
    path = (folder or Path()) / Path(value).expanduser()
    return str(path.absolute()) if value and path.exists() else value
