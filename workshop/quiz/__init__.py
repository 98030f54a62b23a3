"""Quizzes: decks of questions, how answers are judged, rounds with a class, and what an instructor learns of them.

What authors write: `deck`, `parts`, `expressions`; `reader` reads it, and `validation`, `form_errors` and
`content_errors` name by line all that is wrong with it. What a learner gets and sends: `randomisation`,
`question_view`, `text_input`. What is right: `grading`, `truth`, `placement_questions`, `prediction_checks`.
Markdown as safe HTML: `rendering`, `formulas`, `pictures`. `self_study` is for learning alone, `live` has the states
and points of a round, `results` is for the instructor, `formats` reads and writes other programs' files.
"""

from __future__ import annotations

from workshop.extension import Extension, QuizFormat

EXTENSION = Extension(
    formats=(
        QuizFormat("gift", "Moodle GIFT", (".gift", ".txt"), "workshop.quiz.formats.gift"),
        QuizFormat("moodle", "Moodle XML", (".xml",), "workshop.quiz.formats.moodle"),
        QuizFormat(
            "qti",
            "QTI 2.1",
            (".zip", ".xml"),
            "workshop.quiz.formats.qti",
            recognises="workshop.quiz.formats.qti_package:recognises",
        ),
        QuizFormat(
            "aiken",
            "Aiken",
            (".txt",),
            "workshop.quiz.formats.aiken",
            recognises="workshop.quiz.formats.aiken:recognises",
        ),
        QuizFormat("jupyterquiz", "jupyterquiz", (".json",), "workshop.quiz.formats.jupyterquiz", read=False),
    ),
)
