"""Names in one call of a notebook: the settings of a workload and the fields of a placement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from workshop import registry
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement, hosts_from
from workshop.extension import Workload
from workshop.mpi.words.parsed_options import RESOURCES, ParsedOptions, read_mapping
from workshop.report.actions import OPTIONS

FIELDS = tuple(Placement.model_fields)
ALIASES = {"env": "environment"}  # as the command line has it

_BARE = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?")
_SWITCH = {"yes": "True", "no": "False"}
FLAGS = ("measured", "oversubscribe", "weak")  # options that take no value


def parted(chosen: Workload, names: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params of a workload and the fields of a placement, out of names of both. Raises BadInput for a name that is
    neither, with the one that it is likely to mean, and for one that could be both."""
    params, fields = {}, {}
    model_fields = chosen.params.model_fields
    for name, value in names.items():
        field = ALIASES.get(name, name)
        if name in model_fields and field in FIELDS:
            raise BadInput(
                f"{name} is a setting of {chosen.name} and a field of placements; give one or the other on the command "
                f"line (workshop run {chosen.name})."
            )
        if name in model_fields:
            params[name] = param(model_fields[name], value)
        elif field in FIELDS:
            fields[field] = value
        else:
            raise unknown(name, (*model_fields, *FIELDS), f"a setting of {chosen.name} or of its placement")
    return params, placing(fields)


def unknown(name: str, names: Iterable[str], what: str) -> BadInput:
    """The sentence for a name that there isn't: the nearest right one, else all."""
    choices = list(names)
    near = get_close_matches(name, choices, 1, 0.6)
    right = f"did you mean {near[0]}?" if near else f"there are {', '.join(choices)}."
    return BadInput(f"{name} is not {what}; {right}")


def placing(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a placement as notebooks write them, as `Placement.parse` reads them. Raises BadInput."""
    read = {name: plain(value) for name, value in fields.items()}
    if isinstance(read.get("mpi"), str):
        read["mpi"] = registry.mpi(read["mpi"]).name
    if "hosts" in read:
        read["hosts"] = hosts(read["hosts"])
    if isinstance(read.get("map_by"), str):
        read |= mapping(read["map_by"])
    if isinstance(variables := read.get("environment"), Mapping):
        read["environment"] = {str(name): str(plain(value)) for name, value in variables.items()}
    return read


def on_top(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A placement's fields, replaced by another placement's; variables of both are kept."""
    variables = {**(base.get("environment") or {}), **(fields.get("environment") or {})}
    return {**base, **fields, "environment": variables}


def hosts(value: Any) -> list[dict[str, Any]]:
    """Hosts from words (`hostA:2,hostB:2`) or a list of such, of `Host` or of mappings. Raises BadInput."""
    if value is None:
        return []
    if isinstance(value, str):
        return [host.model_dump() for host in hosts_from(value)]
    if not isinstance(value, Sequence):
        raise BadInput(f"hosts is {value!r}: it should be like 'hostA:2,hostB:2'.")
    hosts_found: list[dict[str, Any]] = []
    for item in value:
        if isinstance(item, Mapping):
            hosts_found.append(dict(item))
        else:
            hosts_found += [item.model_dump()] if isinstance(item, Host) else hosts(str(item))
    return hosts_found


def mapping(word: str) -> dict[str, Any]:
    """The fields of a mapping in Open MPI's notation, `ppr:1:package:pe=2`; a resource alone is `map_by` itself.
    Raises BadInput."""
    if ":" not in word:
        return {"map_by": RESOURCES.get(word, word)}
    parsed = ParsedOptions("mpirun")
    read_mapping(parsed, word, f"map_by {word}")
    if parsed.unknown or parsed.map_by is None:
        raise BadInput(f"map_by is {word}: it should be like package or ppr:1:package:pe=2.")
    read = {"map_by": parsed.map_by, "per_resource": parsed.per_resource, "cores_per_rank": parsed.cores_per_rank}
    return {name: value for name, value in read.items() if value is not None}


def param(field: FieldInfo, value: Any) -> Any:
    """A value as the workload's model takes it: numbers of NumPy as Python's, paths and runs as text; where text is
    wanted a number is written, and a list with commas."""
    value = plain(value)
    if str not in _kinds(field.annotation):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(str(plain(item)) for item in value)
    return value


def plain(value: Any) -> Any:
    """A value without what notebooks have and forms don't."""
    if isinstance(value, PathLike):
        return fspath(value)
    if (number := getattr(value, "run_number", None)) is not None:  # a run, for instance to go on from
        return str(number)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of NumPy
        return value.item()
    return value


def in_python(text: str) -> str:
    """Advice for notebooks: the command line's (--ranks 2) becomes (ranks=2)."""
    return OPTIONS.sub(lambda match: f"({', '.join(_named(match[1].replace(',', ' ').split()))})", text)


def _named(words: list[str]) -> Iterator[str]:
    variables: dict[str, str] = {}
    while words:
        name = words.pop(0).removeprefix("--").replace("-", "_")
        value = words.pop(0).rstrip(",") if words and not words[0].startswith("--") else None
        if value is None:
            yield f"{name}=True" if name in FLAGS else name
        elif name == "env":
            variable, _, value = value.partition("=")
            variables[variable] = value
        else:
            yield f"{name}={_SWITCH.get(value, value if _BARE.fullmatch(value) else repr(value))}"
    if variables:
        yield f"environment={variables}"


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The types of a field, each type of a union like "X | None" by itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
