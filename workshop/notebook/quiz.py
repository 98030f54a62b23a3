"""A quiz below a cell: the dashboard's own script, which asks this kernel, also where there is no dashboard."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from anywidget import AnyWidget
from traitlets import Dict, Unicode

from workshop.core.errors import WorkshopError
from workshop.quiz import pictures, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import QuizLearner
from workshop.store.store import Store

STATIC = files("workshop.web.quiz") / "static"
SCRIPTS = ("dom.js", "ordering.js", "outcome.js", "placing.js", "question.js", "self_study.js")


class QuizWidget(AnyWidget):
    """A deck, question by question. Predictions are measured in `session`; `folder` has the pictures."""

    _esm = Path(__file__).with_name("quiz.js")
    title = Unicode().tag(sync=True)
    scripts = Dict().tag(sync=True)
    css = Unicode().tag(sync=True)

    def __init__(self, store: Store, deck: Deck, learner: QuizLearner, session: int, folder: Path) -> None:
        scripts = {name: (STATIC / name).read_text("utf-8") for name in SCRIPTS}
        css = (files("workshop.report") / "palette.css").read_text("utf-8") + (STATIC / "quiz.css").read_text("utf-8")
        super().__init__(title=deck.title, scripts=scripts, css=css)
        self._store, self._deck, self._learner, self._session, self._folder = store, deck, learner, session, folder
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: dict[str, Any], __: Any) -> None:
        """Answer a message {ref, act, values} of the script by {ref, answer} or {ref, error}."""
        try:
            study = self_study.begin(self._store, self._deck, self._learner, self._folder)
            answer = replace(study, session=self._session).respond(
                message["act"], message["values"], lambda _, picture: pictures.load(self._folder, picture).uri
            )
            self.send({"ref": message["ref"], "answer": answer})
        except WorkshopError as error:
            self.send({"ref": message["ref"], "error": str(error)})
