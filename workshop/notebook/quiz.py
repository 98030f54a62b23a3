"""A quiz in a notebook: one question after the other, with widgets for each form of a question, which get only what a
browser may see. Answers are judged in the kernel and kept in the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any

from ipywidgets import HTML, Button, Checkbox, Dropdown, FloatProgress, HBox, Layout, Text, ToggleButton, VBox, Widget

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.quiz import pictures
from workshop.quiz.parts import Picture
from workshop.quiz.randomisation import written
from workshop.quiz.rendering import plain
from workshop.quiz.self_study import SelfStudy
from workshop.quiz.types import Question

LOOK = 0.5  # seconds between looks at runs that go on
LONGEST = 3600.0  # seconds after which nobody looks any more
GOOD, PARTLY, BAD, NEUTRAL = "#00805f", "#b57300", "#b3261e", "#8597a5"
LINE = 90  # characters of a question in a list
MISSING = "Give an answer first."


class QuizWidget(VBox):
    """A deck, question by question. Predictions are measured in `session`; `folder` has the pictures."""

    def __init__(self, self_study: SelfStudy, session: int, folder: Path) -> None:
        self._mine, self._session, self._folder = self_study, session, folder
        self._at, self._seen = 0, 0  # which question; how many times one was shown
        self._head, self._body, self._said, self._result = HTML(), VBox(), HTML(), VBox()
        self._back = _button("Back", lambda: self._show(self._at - 1))
        self._go = _button("Answer", self._answer, "primary")
        self._next = _button("Next", lambda: self._show(self._at + 1))
        row = HBox([self._back, self._go, self._next])
        super().__init__([self._head, self._body, self._said, row, self._result], layout=Layout(max_width="60em"))
        stored = self_study.answers()
        first = next(
            (at for at, question in enumerate(self_study.deck.questions) if question.id not in stored),
            len(self_study.deck.questions),
        )
        self._show(first)

    @property
    def _questions(self) -> tuple[Question, ...]:
        return self._mine.deck.questions

    def _show(self, at: int) -> None:
        """Show a question, or the result after the last one."""
        self._at, self._seen = max(0, min(at, len(self._questions))), self._seen + 1
        score = self._mine.score()
        done = f"{words.quantity(score.points)} of {words.quantity(score.total)} points, {score.answered} answered"
        self._head.value = f"<b>{escape(self._mine.deck.title)}</b> · {done}"
        self._back.disabled = self._at == 0
        self._next.disabled = self._at == len(self._questions)
        self._said.value = ""
        if self._at == len(self._questions):
            self._show_score(score.revisit)
        else:
            self._show_question(self._look())

    def _look(self) -> dict[str, Any]:
        return self._mine.view(self._questions[self._at].id, self._source)

    def _source(self, _: Question, picture: Picture) -> str:
        return pictures.load(self._folder, picture).uri

    def _show_question(self, view: Mapping[str, Any]) -> None:
        question = view["shown"]
        self._field = field(question)
        html = f"<small>Question {self._at + 1} of {len(self._questions)}</small>{question['html']}{_beside(question)}"
        self._body.children = [HTML(html), self._field.root]
        answered = view["answer"] is not None
        self._go.layout.display = "none" if answered else None
        self._go.description = "Keep my prediction" if question["measured"] else "Answer"
        if answered:
            self._field.write(view["answer"])
            self._field.lock()
        self._show_result(view)

    def _show_result(self, view: Mapping[str, Any]) -> None:
        """The result of an answer, or the progress of the runs that it is checked against."""
        if view["measuring"] is not None:
            self._result.children = self._measuring(view["measuring"])
        elif view["mark"] is not None:
            self._result.children = [HTML(_outcome(view))]
        else:
            self._result.children = []

    def _answer(self) -> None:
        raw = self._field.read()
        if raw is None:
            self._say(MISSING)
            return
        try:
            self._mine.answer(self._questions[self._at].id, raw)
        except WorkshopError as error:
            self._say(str(error))
            return
        self._show(self._at)

    def _measuring(self, now: Mapping[str, Any]) -> list[Any]:
        parts: list[Any] = [HTML(f"<p>{escape(now['words'])}</p>")]
        if now["progress"] is not None:
            done, total = now["progress"]
            parts.append(FloatProgress(value=done, max=total, layout=Layout(width="100%")))
        if now["problem"]:
            parts.append(HTML(_framed(BAD, escape(now["problem"]))))
        if now["run"]:
            parts.append(_button("Run it now", self._run, "primary"))
        elif now["progress"] is not None:
            threading.Thread(target=self._follow, args=(self._seen,), name="quiz", daemon=True).start()
        return parts

    def _run(self) -> None:
        try:
            self._mine.run(self._questions[self._at].id, self._mine.store.session(self._session))
        except WorkshopError as error:
            self._say(str(error))
            return
        self._show(self._at)

    def _follow(self, number: int) -> None:
        """Look at runs until they have ended, or another question is shown."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            time.sleep(LOOK)
            if self._seen != number:
                return
            try:
                now = self._look()["measuring"]
            except WorkshopError as error:
                self._say(str(error))
                return
            if self._seen != number:
                return
            if now is None or now["progress"] is None:
                self._show(self._at)
                return
            self._result.children[0].value = f"<p>{escape(now['words'])}</p>"
            self._result.children[1].value = now["progress"][0]

    def _show_score(self, questions: tuple[str, ...]) -> None:
        """Questions to look at again, and starting over."""
        self._go.layout.display = "none"
        answered = self._mine.answers()
        places = {question.id: at for at, question in enumerate(self._questions)}
        parts: list[Any] = []
        for heading, ids in (
            ("Look at these again", questions),
            ("Not answered yet", [id for id in places if id not in answered]),
        ):
            if ids:
                parts += [HTML(f"<b>{heading}</b>"), *(self._link(id, places[id]) for id in ids)]
        self._body.children = parts or [HTML("<b>All right: nothing to look at again.</b>")]
        self._result.children = [_button("Start over, with other numbers", self._start_over)] if answered else []

    def _link(self, id: str, at: int) -> Button:
        text = plain(self._questions[at].text, self._mine.variant(id).numbers)
        button = _button(shorten(text, LINE, placeholder=" …"), lambda: self._show(at))
        button.layout.width = "100%"
        return button

    def _start_over(self) -> None:
        self._mine = self._mine.start_over()
        self._show(0)

    def _say(self, problem: str) -> None:
        self._said.value = _framed(BAD, escape(problem))


def _button(words_: str, act: Any, style: str = "") -> Button:
    button = Button(description=words_, button_style=style, layout=Layout(width="auto"))
    button.on_click(lambda _: act())
    return button


def _framed(colour: str, html: str) -> str:
    return f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">{html}</div>'


def _beside(question: Mapping[str, Any]) -> str:
    """The parts below a question's text: a picture, the run, the given values."""
    parts = []
    if question["picture"]:
        src, alt = escape(question["picture"]["src"]), escape(question["picture"]["alt"])
        parts.append(f'<img src="{src}" alt="{alt}" style="max-width: 100%; max-height: 20em; background: white">')
    if question.get("runs"):
        parts.append("What will be run:<ul>" + "".join(f"<li>{escape(run)}</li>" for run in question["runs"]) + "</ul>")
    for label, name in (("Machine", "machine"), ("Given", "given")):
        if question.get(name):
            parts.append(f"<p>{label}: {escape(question[name])}</p>")
    return "".join(parts)


def _outcome(view: Mapping[str, Any]) -> str:
    """The mark with its feedback, the measured value, the right answer and the reason."""
    mark, solution, truth = view["mark"], view["solution"], view["truth"]
    word, colour = _verdict(mark)
    parts = [_framed(colour, f"<b>{word}</b>" + "".join(mark["feedback"]))]
    if truth:
        parts.append(f"<p>Measured: <b>{escape(truth['words'])}</b> ({escape(truth['how'])})</p>")
    elif solution["html"] and not mark["right"]:
        parts.append(f"<div>Right is: {solution['html']}</div>")
    parts.append(solution["explanation"])
    if solution["section"]:
        parts.append(f"<small>Read about it in the section <b>{escape(solution['section'])}</b> of this lab.</small>")
    if view["shown"]["source"]:
        parts.append(f"<small>Source: {escape(view['shown']['source'])}</small>")
    return "".join(parts)


def _verdict(mark: Mapping[str, Any]) -> tuple[str, str]:
    if mark["right"] is None:
        return "Thank you for your answer", NEUTRAL
    if mark["right"]:
        return "Right", GOOD
    return ("Partly right", PARTLY) if mark["share"] > 0 else ("Not right", BAD)


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
    rows = [_row(buttons[option["key"]], html=option["html"]) for option in options]

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
        rows[item["key"]] = _row(up, down, html=item["html"])
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
    rows = [_row(chosen[item["key"]], html=item["html"]) for item in lefts]

    def read() -> Any:
        raw = {key: dropdown.value for key, dropdown in chosen.items()}
        return raw if all(raw.values()) else None

    def write(raw: Any) -> None:
        for key, value in raw.items():
            chosen[key].value = value

    return Field(VBox([VBox(listed), VBox(rows)]), read, write, tuple(chosen.values()))


def _row(*controls: Widget, html: str) -> HBox:
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
