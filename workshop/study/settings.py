"""Settings and axes of a study as words of a command line: name=value, name=value,value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workshop.core.errors import BadInput
from workshop.extension import Workload

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


def read_axes(words: Sequence[str]) -> dict[str, list[str | None]]:
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
