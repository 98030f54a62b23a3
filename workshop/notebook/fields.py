"""Widgets to answer a question in a notebook, for each form of a question. They get only what a browser may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from ipywidgets import HTML, Button, Checkbox, Dropdown, HBox, Layout, Text, ToggleButton, VBox, Widget

from workshop.quiz.randomisation import written

HALF = Layout(width="50%")


@dataclass(frozen=True)
class Field:
    """`read` gives the answer as browsers send it, None where something is missing; `write` shows one."""

    root: Widget
    read: Callable[[], Any]
    write: Callable[[Any], None]
    inputs: tuple[Widget, ...]

    def lock(self) -> None:
        for each in self.inputs:
            each.disabled = True


def field(view: Mapping[str, Any]) -> Field:
    """The widgets for a question as it is shown (`view` of `quiz.types.base.Question`)."""
    match view["form"]:
        case "choice":
            return _choices(view["options"], single=True)
        case "choices":
            return _choices(view["options"], single=False)
        case "order":
            return _order(view["items"])
        case "match":
            return _match(view["lefts"], view["rights"])
        case "fields":
            return _place(view["fields"])
        case "text":
            return _typed("your answer, in a few words")
    whole_number = view.get("whole")
    return _typed("the number of a rank, from 0" if whole_number else "a number", view.get("unit", ""))


def _choices(options: list[dict[str, str]], single: bool) -> Field:
    buttons = {option["key"]: _letter(option["key"]) for option in options}

    def chosen() -> list[str]:
        return [key for key, button in buttons.items() if button.value]

    def only(change: Mapping[str, Any]) -> None:
        if change["new"]:
            for button in buttons.values():
                button.value = button is change["owner"]

    if single:
        for button in buttons.values():
            button.observe(only, "value")
    rows = [_beside(buttons[option["key"]], html=option["html"]) for option in options]

    def read() -> Any:
        return (chosen() or [None])[0] if single else chosen() or None

    def write(raw: Any) -> None:
        for key, button in buttons.items():
            button.value = key in ([raw] if single else raw)

    return Field(VBox(rows), read, write, tuple(buttons.values()))


def _letter(key: str) -> ToggleButton:
    return ToggleButton(description=key.upper(), tooltip=f"Answer {key.upper()}", layout=_fixed("3em"))


def _fixed(width: str) -> Layout:
    """So wide also beside a long text."""
    return Layout(width=width, flex="0 0 auto")


def _order(items: list[dict[str, str]]) -> Field:
    """Items with arrows that move them up and down."""
    order = [item["key"] for item in items]
    rows: dict[str, HBox] = {}
    arrows: list[Button] = []
    root = VBox()

    def place() -> None:
        root.children = [rows[key] for key in order]

    def mover(key: str, by: int) -> Callable[[Button], None]:
        def move(_: Button) -> None:
            at = order.index(key)
            if 0 <= at + by < len(order):
                order.insert(at + by, order.pop(at))
                place()

        return move

    for item in items:
        up, down = (Button(description=sign, tooltip=to, layout=_fixed("3em")) for sign, to in _ARROWS)
        up.on_click(mover(item["key"], -1))
        down.on_click(mover(item["key"], 1))
        arrows += [up, down]
        rows[item["key"]] = _beside(up, down, html=item["html"])
    place()

    def write(raw: Any) -> None:
        order[:] = raw
        place()

    return Field(root, lambda: list(order), write, tuple(arrows))


_ARROWS = (("↑", "Move up"), ("↓", "Move down"))


def _match(lefts: list[dict[str, str]], rights: list[dict[str, str]]) -> Field:
    letters = [("choose", ""), *((right["key"].upper(), right["key"]) for right in rights)]
    chosen = {item["key"]: Dropdown(options=letters, value="", layout=_fixed("7em")) for item in lefts}
    listed = [HTML(f"<b>{right['key'].upper()}</b>&ensp;{_inline(right['html'])}") for right in rights]
    rows = [_beside(chosen[item["key"]], html=item["html"]) for item in lefts]

    def read() -> Any:
        raw = {key: dropdown.value for key, dropdown in chosen.items()}
        return raw if all(raw.values()) else None

    def write(raw: Any) -> None:
        for key, value in raw.items():
            chosen[key].value = value

    return Field(VBox([VBox(listed), VBox(rows)]), read, write, tuple(chosen.values()))


def _beside(*controls: Widget, html: str) -> HBox:
    """A text at the height of its widget."""
    return HBox([*controls, HTML(_inline(html))], layout=Layout(align_items="center"))


def _inline(html: str) -> str:
    """A paragraph alone stands beside its letter."""
    return html.strip().removeprefix("<p>").removesuffix("</p>") if html.count("<p>") == 1 else html


def _typed(placeholder: str, unit: str = "") -> Field:
    text = Text(placeholder=placeholder, continuous_update=True)
    root = HBox([text, HTML(escape(unit))])

    def write(raw: Any) -> None:
        text.value = written(raw) if isinstance(raw, float) else str(raw)

    return Field(root, lambda: text.value.strip() or None, write, (text,))


def _place(fields: list[dict[str, Any]]) -> Field:
    inputs = {spec["name"]: _input(spec) for spec in fields}
    rows = [
        HBox([HTML(f"{escape(spec['label'])}<br><small>{escape(spec['help'] or '')}</small>", layout=HALF), widget])
        for spec, widget in zip(fields, inputs.values(), strict=True)
    ]

    def write(raw: Any) -> None:
        for name, value in raw.items():
            inputs[name].value = value if not isinstance(inputs[name], Text) else "" if value is None else str(value)

    return Field(
        VBox(rows), lambda: {name: widget.value for name, widget in inputs.items()}, write, tuple(inputs.values())
    )


def _input(spec: Mapping[str, Any]) -> Widget:
    if spec["kind"] == "choice":
        return Dropdown(options=spec["choices"], value=spec["value"])
    if spec["kind"] == "yesno":
        return Checkbox(value=bool(spec["value"]), description="yes", indent=False)
    # What isn't a whole number is refused where the answer is read, with a sentence.
    return Text(
        value="" if spec["value"] is None else str(spec["value"]), placeholder=f"{spec['least']} to {spec['most']}"
    )
