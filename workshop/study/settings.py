"""Settings of a study's trials as words of a command line: name=value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workshop.errors import BadInput
from workshop.workloads import Workload


def read_settings(words: Sequence[str], workload: Workload) -> dict[str, Any]:
    """Params from words like "batch=32". Raises BadInput for words that are none, and for a name that comes twice.

    A file is named by its whole path from here on: whoever goes on with the study may stand in another folder.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not equals or not name:
            raise BadInput(f"--set {word} should be like --set name=value.")
        if name in values:
            raise BadInput(f"{name} is set twice: {values[name]} and {value}.")
        values[name] = _whole_path(workload, name, value)
    return values


def read_options(words: Sequence[str]) -> list[str]:
    """The workload's own options, as `workshop run` takes them (--batch 32 or --batch=32), as words for
    `read_settings`. Raises BadInput for words that are none."""
    rest, found = list(words), []
    while rest:
        option = rest.pop(0)
        if not option.startswith("--") or len(option) < 3:
            raise BadInput(f"{option} is no option; a workload's setting is given as --set name=value.")
        if "=" not in option:
            if not rest or rest[0].startswith("--"):
                raise BadInput(f"{option} has no value; write {option} VALUE.")
            option = f"{option}={rest.pop(0)}"
        found.append(option.removeprefix("--"))
    return found


def _whole_path(workload: Workload, name: str, value: str) -> str:
    field = workload.params.model_fields.get(name)
    extra = field.json_schema_extra if field is not None else None
    about = extra.get("file") if isinstance(extra, dict) else None
    if not isinstance(about, dict) or value in (about.get("choices") or []) or value.isdecimal():
        return value  # what everybody has, or a run's number
    path = Path(value).expanduser()
    return str(path.absolute()) if value and path.exists() else value
