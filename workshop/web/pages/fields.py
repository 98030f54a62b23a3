"""Widgets made from pydantic models, so that every field of a workload or a placement can be set on a page.
`workshop.core.forms` says what fields can ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import streamlit as st
from pydantic import BaseModel

from workshop import mpi
from workshop.core.errors import BadInput
from workshop.core.forms import EARLIER, LONGEST_NUMBER, applies, extra, is_run_number, param_of_runs
from workshop.core.placement import USUAL_MPI, Placement
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.web.pages.blocks import abreast

UPLOAD = "upload"
Uploads = dict[str, tuple[str, bytes]]
NUMBERS = {"integer": int, "number": float}  # by their names in a JSON schema
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
    fields, schemas = model.model_fields, model.model_json_schema().get("properties", {})

    def draw(name: str) -> None:
        field = fields[name]
        start = start_values.get(name, extra(field).get("page", field.get_default(call_default_factory=True)))
        label, widget_key = name.replace("_", " ").capitalize(), f"{key}-{name}"
        if unit := extra(field).get("unit"):
            label = f"{label} [{unit}]"
        about = extra(field).get("file")
        if choices and name in choices:
            values[name] = choice(label, choices[name], start, widget_key, field.description)
        elif about is None:
            largest = most.get(name) if most else None
            values[name] = _widget(schemas[name], label, field.description, start, widget_key, largest)
        elif about.get("runs"):  # another value, like a path, isn't shown
            number, hint = start if is_run_number(start) else "", "number of a run"
            help_, longest = field.description, LONGEST_NUMBER
            text = st.text_input(label, number, max_chars=longest, placeholder=hint, help=help_, key=widget_key)
            values[name] = (text or "").strip()
        else:
            options = [*about["choices"]]
            options += [UPLOAD] if uploading and about.get("upload", True) else []
            options += [EARLIER] if start == EARLIER else []
            values[name] = choice(label, {option: option for option in options}, start, widget_key, field.description)
            if values[name] == UPLOAD:
                types, file_key = about.get("types"), f"{widget_key}-file"
                if file := st.file_uploader("Your file", types, key=file_key, label_visibility="collapsed"):
                    uploads[name] = (file.name, file.getvalue())

    def show(names: list[str]) -> None:
        """Choices and words first, since numbers may depend on them; then numbers, two in a row."""
        numbers = [name for name in names if _shape(schemas[name])["type"] in NUMBERS]
        for name in names:
            if name not in numbers and applies(fields[name], values):
                draw(name)
        for column, name in abreast([name for name in numbers if applies(fields[name], values)], 2):
            with column:
                draw(name)

    visible = [name for name in fields if name not in set(hidden)]
    folded = [name for name in visible if extra(fields[name]).get("advanced") or name in set(advanced)]
    parts: dict[str, list[str]] = {"": []}  # names by the heading of their group; those without a group come first
    for name in visible:
        if name not in folded:
            parts.setdefault(extra(fields[name]).get("part", ""), []).append(name)
    show(parts.pop(""))
    for part, names in parts.items():
        with st.container(border=True):
            st.markdown(f"**{part}**")
            show(names)
    if folded:
        # Whoever is led here to set something behind the fold has to see it.
        runs = param_of_runs(model)
        with st.expander("Advanced", expanded=runs in folded and is_run_number(start_values.get(runs))):
            show(folded)
    return values, uploads


def choice(label: str, titles: Mapping[str, str], start: Any, key: str, help_: str | None = None) -> str:
    """A widget to choose one of these values. A start that isn't among them, since it is gone, becomes the first."""
    begin = start if start in titles else next(iter(titles))
    chosen: str = st.segmented_control(
        label, list(titles), default=begin, required=True, format_func=lambda name: titles[name], help=help_, key=key
    )
    return chosen


def _widget(schema: Mapping[str, Any], label: str, help_: str | None, start: Any, key: str, most: int | None) -> Any:
    shape = _shape(schema)
    kind = shape["type"]
    if options := shape.get("enum"):
        if len(options) <= 4:
            return st.segmented_control(label, options, default=start, required=True, help=help_, key=key)
        return st.selectbox(label, options, index=options.index(start), help=help_, key=key)
    if kind == "boolean":
        # A switch says beside itself what it switches: nobody turns off what they first have to look up.
        return st.toggle(f"**{label}**: {help_}" if help_ else label, value=start, key=key)
    if kind in NUMBERS:
        number = NUMBERS[kind]
        low, high = shape.get("minimum"), shape.get("maximum")
        if most is not None:
            high, start = most, None if start is None else min(start, most)
            help_ = f"{help_}; at most {most} in this session"
        return st.number_input(
            label,
            min_value=None if low is None else number(low),
            max_value=None if high is None else number(high),
            value=None if start is None else number(start),
            step=1 if number is int else None,
            format=None if number is int else "%g",
            placeholder="auto" if "anyOf" in schema else None,
            help=help_,
            key=key,
        )
    if kind == "object":
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


def _shape(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON schema of a field's values without "or none"."""
    return next(part for part in schema.get("anyOf", [schema]) if part.get("type") != "null")


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
    all_mpis, installed = IMPLEMENTATIONS, mpi.installed()
    hidden = {"hosts", *(Placement.model_fields.keys() - names)} | (set() if set(installed) - {USUAL_MPI} else {"mpi"})
    choices = {"mpi": {name: all_mpis[name].title for name in installed}}
    values, _ = model_form(Placement, start_values, key, advanced=FOLDED, hidden=hidden, choices=choices, most=most)
    return values
