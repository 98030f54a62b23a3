"""Widgets made from pydantic models, so that every field of a workload or a placement can be set on a page.
`workshop.core.forms` says what fields can ask for."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from workshop.core.errors import BadInput
from workshop.core.forms import EARLIER, LONGEST_NUMBER, applies, extra, is_run_number
from workshop.core.placement import USUAL_MPI, Placement
from workshop.mpi import inventory
from workshop.mpi.implementations import IMPLEMENTATIONS

UPLOAD = "upload"
Uploads = dict[str, tuple[str, bytes]]
FOLDED = ("mpi", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "environment")


def model_form(
    model: type[BaseModel],
    start_values: Mapping[str, Any],
    key: str,
    advanced: Iterable[str] = (),
    hidden: Iterable[str] = (),
    choices: Mapping[str, Mapping[str, str]] | None = None,
    most: Mapping[str, int] | None = None,
    uploading: bool = True,
) -> tuple[dict[str, Any], Uploads]:
    """Widgets for the fields of a model, beginning with `start_values`. Returns values and uploaded files.

    `advanced` names fields for behind the fold beside those that say so themselves; `hidden` ones keep what is given.
    `choices` are the values of fields of text that only take some, each with its title; `most` has the largest value of
    numbers that the visitor may not set higher. `uploading`: fields that name a file take an uploaded one. Values are
    not validated here. Raises BadInput for what can't even be read.
    """
    values: dict[str, Any] = {name: start_values[name] for name in hidden if name in start_values}
    uploads: Uploads = {}
    fields = model.model_fields
    visible = [name for name in fields if name not in set(hidden)]
    folded = [name for name in visible if extra(fields[name]).get("advanced") or name in set(advanced)]
    form = _Form(model, start_values, key, values, uploads, choices or {}, most or {}, uploading)
    for part, names in _parts(fields, [name for name in visible if name not in folded]).items():
        if part:
            with st.container(border=True):
                st.markdown(f"**{part}**")
                form.show(names)
        else:
            form.show(names)
    if folded:
        # Whoever is led here to set something behind the fold has to see it.
        with st.expander(
            "Advanced", expanded=any(_names_a_run(fields[name], start_values.get(name)) for name in folded)
        ):
            form.show(folded)
    return values, uploads


def _parts(fields: Mapping[str, FieldInfo], names: Iterable[str]) -> dict[str, list[str]]:
    """Names by the heading of their group; those without a group come first."""
    parts: dict[str, list[str]] = {"": []}
    for name in names:
        parts.setdefault(extra(fields[name]).get("part", ""), []).append(name)
    return parts


def _names_a_run(field: FieldInfo, value: Any) -> bool:
    return bool((extra(field).get("file") or {}).get("runs")) and is_run_number(value)


@dataclass
class _Form:
    """Some fields of a model, and the values read from all of them so far."""

    model: type[BaseModel]
    start_values: Mapping[str, Any]
    key: str
    values: dict[str, Any]
    uploads: Uploads
    choices: Mapping[str, Mapping[str, str]]
    most: Mapping[str, int]
    uploading: bool

    def show(self, names: list[str]) -> None:
        """Choices and words first, since numbers may depend on them; then numbers, two in a row."""
        numbers = [name for name in names if _kind(self.model.model_fields[name].annotation)[0] in (int, float)]
        for name in names:
            if name not in numbers and self._applies(name):
                self._field(name)
        numbers = [name for name in numbers if self._applies(name)]
        for start in range(0, len(numbers), 2):
            row = numbers[start : start + 2]
            for column, name in zip(st.columns(len(row)), row, strict=True):
                with column:
                    self._field(name)

    def _applies(self, name: str) -> bool:
        return applies(self.model.model_fields[name], self.values)

    def _field(self, name: str) -> None:
        field = self.model.model_fields[name]
        start = self.start_values.get(name, extra(field).get("page", field.get_default(call_default_factory=True)))
        label, key = name.replace("_", " ").capitalize(), f"{self.key}-{name}"
        if unit := extra(field).get("unit"):
            label = f"{label} [{unit}]"
        about = extra(field).get("file")
        if name in self.choices:
            self.values[name] = choice(label, self.choices[name], start, key, field.description)
        elif about is None:
            self.values[name] = _widget(field, label, field.description, start, key, self.most.get(name))
        elif about.get("runs"):
            self.values[name] = _run_number(label, field.description, start, key)
        else:
            about = about if self.uploading else {**about, "upload": False}
            self.values[name] = _file(label, field.description, start, about, key)
            if self.values[name] == UPLOAD:
                file = st.file_uploader(
                    "Your file", about.get("types"), key=f"{key}-file", label_visibility="collapsed"
                )
                if file is not None:
                    self.uploads[name] = (file.name, file.getvalue())


def choice(label: str, titles: Mapping[str, str], start: Any, key: str, help_: str | None = None) -> str:
    """A widget to choose one of these values. A start that isn't among them, since it is gone, becomes the first."""
    begin = start if start in titles else next(iter(titles))
    chosen: str = st.segmented_control(
        label, list(titles), default=begin, required=True, format_func=lambda name: titles[name], help=help_, key=key
    )
    return chosen


def _widget(field: FieldInfo, label: str, help_: str | None, start: Any, key: str, most: int | None) -> Any:
    kind, optional = _kind(field.annotation)
    if get_origin(kind) is Literal:
        options = list(get_args(kind))
        if len(options) <= 4:
            return st.segmented_control(label, options, default=start, required=True, help=help_, key=key)
        return st.selectbox(label, options, index=options.index(start), help=help_, key=key)
    if kind is bool:
        # A switch says beside itself what it switches: nobody turns off what they first have to look up.
        return st.toggle(f"**{label}**: {help_}" if help_ else label, value=start, key=key)
    if kind in (int, float):
        low, high = _bounds(field)
        if most is not None:
            high, start = most, None if start is None else min(start, most)
            help_ = f"{help_}; at most {most} in this session"
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
    choices = [*about["choices"], *([UPLOAD] if about.get("upload", True) else [])]
    if start == EARLIER:
        choices.append(EARLIER)
    begin = start if start in choices else choices[0]
    return str(st.segmented_control(label, choices, default=begin, required=True, help=help_, key=key))


def _run_number(label: str, help_: str | None, start: Any, key: str) -> str:
    """The number of a run, or nothing. Another value, like a path, isn't shown."""
    begin = start if is_run_number(start) else ""
    text = st.text_input(label, begin, max_chars=LONGEST_NUMBER, placeholder="number of a run", help=help_, key=key)
    return (text or "").strip()


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
    limits: list[Any] = list(field.metadata)
    for part in get_args(field.annotation):
        for inner in getattr(part, "__metadata__", ()):
            limits += getattr(inner, "metadata", [inner])
    low = next((limit.ge for limit in limits if getattr(limit, "ge", None) is not None), None)
    high = next((limit.le for limit in limits if getattr(limit, "le", None) is not None), None)
    return low, high


def _mapping(lines: str, label: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in lines.splitlines() if line.strip()]
    for name, equals, _ in pairs:
        if not equals:
            raise BadInput(f"{label}: {name.strip()!r} should be like NAME=value, one on a line.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def placement_form(
    start_values: Mapping[str, Any],
    key: str,
    names: Collection[str] = tuple(Placement.model_fields),
    most: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Widgets for the fields of a placement with these `names`; other fields keep the given values. Its hosts stay;
    other MPIs can be chosen where they are installed. `most` is that of `model_form`. Raises BadInput for values that
    can't be read."""
    all_mpis, installed = IMPLEMENTATIONS, inventory.installed()
    hidden = {"hosts", *(Placement.model_fields.keys() - names)} | (set() if set(installed) - {USUAL_MPI} else {"mpi"})
    choices = {"mpi": {name: all_mpis[name].title for name in installed}}
    values, _ = model_form(Placement, start_values, key, advanced=FOLDED, hidden=hidden, choices=choices, most=most)
    return values
