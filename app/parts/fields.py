"""Widgets made from pydantic models: whatever a workload or a placement declares can be set on the page.

A field's `json_schema_extra` may say `advanced` (behind a fold), `when` (only shown where other fields have these
values), `page` (the page's default where it differs) and `file` (one of its choices, or an upload).
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from workshop.errors import BadInput

UPLOAD = "upload"
Uploads = dict[str, tuple[str, bytes]]


def model_form(
    model: type[BaseModel], given: Mapping[str, Any], key: str, advanced: Iterable[str] = (), hidden: Iterable[str] = ()
) -> tuple[dict[str, Any], Uploads]:
    """Widgets for the fields of a model, beginning with the `given` values. Returns values and uploaded files.

    `advanced` names fields for behind the fold beside those that say so themselves; `hidden` ones keep what is given.
    Values are not validated here. Raises BadInput for what can't even be read.
    """
    values: dict[str, Any] = {name: given[name] for name in hidden if name in given}
    uploads: Uploads = {}
    folded = {name for name, field in model.model_fields.items() if extra(field).get("advanced")} | set(advanced)
    shown = [name for name in model.model_fields if name not in set(hidden)]
    part = _Part(model, given, key, values, uploads)
    part.show([name for name in shown if name not in folded])
    if folded:
        with st.expander("Advanced"):
            part.show([name for name in shown if name in folded])
    return values, uploads


def extra(field: FieldInfo) -> Mapping[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


@dataclass
class _Part:
    """Some fields of a model, and what has been read of all of them so far."""

    model: type[BaseModel]
    given: Mapping[str, Any]
    key: str
    values: dict[str, Any]
    uploads: Uploads

    def show(self, names: list[str]) -> None:
        """Choices and words first, since numbers may depend on them; then numbers, two in a row."""
        numbers = [name for name in names if _kind(self.model.model_fields[name].annotation)[0] in (int, float)]
        for name in names:
            if name not in numbers and self._applies(name):
                self._one(name)
        numbers = [name for name in numbers if self._applies(name)]
        for start in range(0, len(numbers), 2):
            for column, name in zip(st.columns(2), numbers[start : start + 2], strict=False):
                with column:
                    self._one(name)

    def _applies(self, name: str) -> bool:
        when = extra(self.model.model_fields[name]).get("when", {})
        return all(self.values.get(other) == value for other, value in when.items())

    def _one(self, name: str) -> None:
        field = self.model.model_fields[name]
        start = self.given.get(name, extra(field).get("page", field.get_default(call_default_factory=True)))
        label, key = name.replace("_", " ").capitalize(), f"{self.key}-{name}"
        if about := extra(field).get("file"):
            self.values[name] = _file(label, field.description, start, about, key)
            if self.values[name] == UPLOAD:
                file = st.file_uploader(
                    "Your file", about.get("types"), key=f"{key}-file", label_visibility="collapsed"
                )
                if file is not None:
                    self.uploads[name] = (file.name, file.getvalue())
        else:
            self.values[name] = _widget(field, label, field.description, start, key)


def _widget(field: FieldInfo, label: str, help_: str | None, start: Any, key: str) -> Any:
    kind, optional = _kind(field.annotation)
    if get_origin(kind) is Literal:
        options = list(get_args(kind))
        if len(options) <= 4:
            return st.segmented_control(label, options, default=start, required=True, help=help_, key=key)
        return st.selectbox(label, options, index=options.index(start), help=help_, key=key)
    if kind is bool:
        return st.toggle(label, value=start, help=help_, key=key)
    if kind in (int, float):
        low, high = _bounds(field)
        number = kind if start is not None else (lambda value: value)
        return st.number_input(
            label,
            min_value=None if low is None else kind(low),
            max_value=None if high is None else kind(high),
            value=number(start),
            step=1 if kind is int else None,
            format=None if kind is int else "%g",
            placeholder="auto" if optional else None,
            help=help_,
            key=key,
        )
    if get_origin(kind) is dict:
        lines = st.text_area(
            label,
            "\n".join(f"{name}={value}" for name, value in (start or {}).items()),
            help=help_,
            key=key,
            height=90,
            placeholder="NAME=value, one on a line",
        )
        return _mapping(lines or "", label)
    return st.text_input(label, str(start), help=help_, key=key)


def _file(label: str, help_: str | None, start: Any, about: Mapping[str, Any], key: str) -> str:
    choices = [*about["choices"], UPLOAD]
    begin = start if start in choices else choices[0]
    return st.segmented_control(label, choices, default=begin, required=True, help=help_, key=key)


def _kind(annotation: Any) -> tuple[Any, bool]:
    """The type without "or none" and without its constraints, and whether it can be none."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    kinds = [part for part in parts if part is not type(None)]
    kind = kinds[0]
    while hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    return kind, len(kinds) < len(parts)


def _bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    """Least and greatest allowed number, also where they belong to the part of an optional that is a number."""
    found: list[Any] = list(field.metadata)
    for part in get_args(field.annotation):
        for inner in getattr(part, "__metadata__", ()):
            found += getattr(inner, "metadata", [inner])
    low = next((one.ge for one in found if getattr(one, "ge", None) is not None), None)
    high = next((one.le for one in found if getattr(one, "le", None) is not None), None)
    return low, high


def _mapping(lines: str, label: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in lines.splitlines() if line.strip()]
    for name, equals, _ in pairs:
        if not equals:
            raise BadInput(f"{label}: {name.strip()!r} should be like NAME=value, one on a line.")
    return {name.strip(): value.strip() for name, _, value in pairs}
