"""Descriptions that the fields of a workload's params have in their `json_schema_extra`.

`advanced` (behind a fold), `part` (the heading of a group), `when` (only shown where other fields have these values, or
one of a list of them), `page` (the page's default where it differs), `unit` (of a number) and `file` (a param that
names a file: one of its `choices`, an upload unless `upload` is False, or with `runs` the number of a run that has left
one).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from pydantic import BaseModel
from pydantic.fields import FieldInfo

LONGEST_NUMBER = 10  # digits of a run's number
YES_NO = {True: "yes", False: "no"}
EARLIER = "earlier"  # for a param that names a file: the one of the run that this one goes on from


def extra(field: FieldInfo) -> Mapping[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def applies(field: FieldInfo, values: Mapping[str, Any]) -> bool:
    """Whether a field has an effect while the other fields have these values."""
    for other, right in extra(field).get("when", {}).items():
        if values.get(other) not in (right if isinstance(right, list) else [right]):
            return False
    return True


def unused(model: type[BaseModel], values: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """A sentence for each of the `values` that has no effect beside the other params of a run."""
    sentences = []
    for name in values:
        if not applies(model.model_fields[name], params):
            needs = []
            for other, right in extra(model.model_fields[name])["when"].items():
                values_that_act = [right] if not isinstance(right, list) else right
                needs.append(f"--{other} {' or '.join(YES_NO.get(value, str(value)) for value in values_that_act)}")
            sentence = f"--{name} has no effect here; it acts only with {' and '.join(needs)}."
            sentences.append(sentence.replace("_", "-"))
    return sentences


def file_params(model: type[BaseModel]) -> dict[str, Mapping[str, Any]]:
    """The params that name a file, each with its settings for the form."""
    return {name: about for name, field in model.model_fields.items() if (about := extra(field).get("file"))}


def param_of_runs(model: type[BaseModel]) -> str | None:
    """The param that takes the number of an earlier run to continue; None where there is none."""
    return next((name for name, about in file_params(model).items() if about.get("runs")), None)


def going_on(model: type[BaseModel], params: Mapping[str, Any]) -> dict[str, Any]:
    """Params for a run that continues an earlier run with these params. Files are taken from the earlier run, because
    their names mean nothing any more."""
    file_names = [name for name, about in file_params(model).items() if not about.get("runs")]
    own_files = [
        name for name in file_names if name in params and params[name] not in file_params(model)[name]["choices"]
    ]
    return {**params, **dict.fromkeys(own_files, EARLIER)}


def named(model: type[BaseModel] | None, params: Mapping[str, Any]) -> dict[str, Any]:
    """Params as everybody may see them: a path on the server, which concerns nobody else, is cut to its last name.
    Where the workload is unknown (None), any param may name a file."""
    files = params if model is None else file_params(model)
    paths = [name for name in files if "/" in str(params.get(name) or "")]
    return {**params, **{name: str(params[name]).rstrip("/").rpartition("/")[2] for name in paths}}


def is_run_number(text: Any) -> TypeGuard[str]:
    """Whether this can be the number of a run, and nothing else, such as a path."""
    return isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
