"""Quizzes: decks of questions, how answers are judged, rounds with a class, and what an instructor learns of them."""

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
            recognises="workshop.quiz.formats.qti_version:recognises",
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
