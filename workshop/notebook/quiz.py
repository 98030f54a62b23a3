"""A quiz in a notebook: one question after the other. Answers are judged in the kernel and kept in the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any

from ipywidgets import HTML, Button, FloatProgress, HBox, Layout, VBox

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.notebook.fields import field
from workshop.quiz import pictures
from workshop.quiz.deck import Base, Picture
from workshop.quiz.rendering import plain
from workshop.quiz.self_study import SelfStudy

LOOK = 0.5  # seconds between looks at runs that go on
LONGEST = 3600.0  # seconds after which nobody looks any more
GOOD, PARTLY, BAD, NEUTRAL = "#00805f", "#b57300", "#b3261e", "#8597a5"
LINE = 90  # characters of a question in a list
MISSING = "Give an answer first."


class QuizWidget(VBox):
    """A deck, question by question. Predictions are measured in `session`; `folder` has the pictures."""

    def __init__(self, mine: SelfStudy, session: int, folder: Path) -> None:
        self._mine, self._session, self._folder = mine, session, folder
        self._at, self._seen = 0, 0  # which question; how many times one was shown
        self._head, self._body, self._said, self._result = HTML(), VBox(), HTML(), VBox()
        self._back = _button("Back", lambda: self._show(self._at - 1))
        self._go = _button("Answer", self._answer, "primary")
        self._next = _button("Next", lambda: self._show(self._at + 1))
        row = HBox([self._back, self._go, self._next])
        super().__init__([self._head, self._body, self._said, row, self._result], layout=Layout(max_width="60em"))
        kept = mine.answers()
        first = next((at for at, one in enumerate(mine.deck.questions) if one.id not in kept), len(mine.deck.questions))
        self._show(first)

    @property
    def _questions(self) -> tuple[Base, ...]:
        return self._mine.deck.questions

    def _show(self, at: int) -> None:
        """Show a question, or the result after the last one."""
        self._at, self._seen = max(0, min(at, len(self._questions))), self._seen + 1
        score = self._mine.score()
        done = f"{words.short(score.points)} of {words.short(score.of)} points, {score.answered} answered"
        self._head.value = f"<b>{escape(self._mine.deck.title)}</b> · {done}"
        self._back.disabled = self._at == 0
        self._next.disabled = self._at == len(self._questions)
        self._said.value = ""
        if self._at == len(self._questions):
            self._show_score(score.again)
        else:
            self._show_question(self._look())

    def _look(self) -> dict[str, Any]:
        return self._mine.view(self._questions[self._at].id, self._source)

    def _source(self, _: Base, picture: Picture) -> str:
        return pictures.data_uri(self._folder, picture)

    def _show_question(self, seen: Mapping[str, Any]) -> None:
        shown = seen["shown"]
        self._field = field(shown)
        told = f"<small>Question {self._at + 1} of {len(self._questions)}</small>{shown['html']}{_beside(shown)}"
        self._body.children = [HTML(told), self._field.root]
        answered = seen["answer"] is not None
        self._go.layout.display = "none" if answered else None
        self._go.description = "Keep my prediction" if shown["type"] == "predict" else "Answer"
        if answered:
            self._field.write(seen["answer"])
            self._field.lock()
        self._show_result(seen)

    def _show_result(self, seen: Mapping[str, Any]) -> None:
        """What came of an answer, or how far the runs are that it is checked against."""
        if seen["measuring"] is not None:
            self._result.children = self._measuring(seen["measuring"])
        elif seen["mark"] is not None:
            self._result.children = [HTML(_outcome(seen))]
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

    def _follow(self, seen: int) -> None:
        """Look at runs until they have ended, or another question is shown."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            time.sleep(LOOK)
            if self._seen != seen:
                return
            try:
                now = self._look()["measuring"]
            except WorkshopError as error:
                self._say(str(error))
                return
            if self._seen != seen:
                return
            if now is None or now["progress"] is None:
                self._show(self._at)
                return
            self._result.children[0].value = f"<p>{escape(now['words'])}</p>"
            self._result.children[1].value = now["progress"][0]

    def _show_score(self, again: tuple[str, ...]) -> None:
        """Questions to look at again, and starting over."""
        self._go.layout.display = "none"
        answered = self._mine.answers()
        places = {question.id: at for at, question in enumerate(self._questions)}
        parts: list[Any] = []
        for heading, ids in (
            ("Look at these again", again),
            ("Not answered yet", [id for id in places if id not in answered]),
        ):
            if ids:
                parts += [HTML(f"<b>{heading}</b>"), *(self._link(id, places[id]) for id in ids)]
        self._body.children = parts or [HTML("<b>All right: nothing to look at again.</b>")]
        self._result.children = [_button("Start over, with other numbers", self._start_over)] if answered else []

    def _link(self, id: str, at: int) -> Button:
        text = plain(self._questions[at].text, self._mine.asked(id).numbers)
        made = _button(shorten(text, LINE, placeholder=" …"), lambda: self._show(at))
        made.layout.width = "100%"
        return made

    def _start_over(self) -> None:
        self._mine = self._mine.start_over()
        self._show(0)

    def _say(self, problem: str) -> None:
        self._said.value = _framed(BAD, escape(problem))


def _button(words_: str, act: Any, style: str = "") -> Button:
    made = Button(description=words_, button_style=style, layout=Layout(width="auto"))
    made.on_click(lambda _: act())
    return made


def _framed(colour: str, html: str) -> str:
    return f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">{html}</div>'


def _beside(shown: Mapping[str, Any]) -> str:
    """The parts below a question's text: a picture, the run, the given values."""
    parts = []
    if shown["picture"]:
        src, alt = escape(shown["picture"]["src"]), escape(shown["picture"]["alt"])
        parts.append(f'<img src="{src}" alt="{alt}" style="max-width: 100%; max-height: 20em; background: white">')
    if shown.get("runs"):
        parts.append("What will be run:<ul>" + "".join(f"<li>{escape(run)}</li>" for run in shown["runs"]) + "</ul>")
    for label, name in (("Machine", "machine"), ("Given", "given")):
        if shown.get(name):
            parts.append(f"<p>{label}: {escape(shown[name])}</p>")
    return "".join(parts)


def _outcome(seen: Mapping[str, Any]) -> str:
    """The mark with its feedback, the measured value, the right answer and the reason."""
    mark, solution, truth = seen["mark"], seen["solution"], seen["truth"]
    word, colour = _verdict(mark)
    parts = [_framed(colour, f"<b>{word}</b>" + "".join(mark["feedback"]))]
    if truth:
        parts.append(f"<p>Measured: <b>{escape(truth['words'])}</b> ({escape(truth['how'])})</p>")
    elif solution["html"] and not mark["right"]:
        parts.append(f"<div>Right is: {solution['html']}</div>")
    parts.append(solution["explanation"])
    if seen["shown"]["source"]:
        parts.append(f"<small>Source: {escape(seen['shown']['source'])}</small>")
    return "".join(parts)


def _verdict(mark: Mapping[str, Any]) -> tuple[str, str]:
    if mark["right"] is None:
        return "Thank you for your answer", NEUTRAL
    if mark["right"]:
        return "Right", GOOD
    return ("Partly right", PARTLY) if mark["share"] > 0 else ("Not right", BAD)
