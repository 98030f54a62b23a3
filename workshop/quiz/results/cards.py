"""The results of a round as cards: `summary` for a terminal, `cards` with each question for the class report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from workshop.core import words
from workshop.quiz import rendering
from workshop.quiz.results.answers import AnswerChoice
from workshop.quiz.results.findings import Item, RoundFindings
from workshop.quiz.results.record import Results
from workshop.report import cards as parts
from workshop.report.cards import Card, Part, bar, line, paragraph, table

SHORT = 90  # characters of an answer in a sentence
COUNTING = (
    "Shares are of the learners who answered: a missing answer isn't wrong there, but gives no marks in the score.",
    "Discrimination is the correlation of a question's mark with the score on the other questions, from -1 to 1. Where "
    "it is negative, those who did well elsewhere got the question wrong: check its key and its wording.",
)


def head(results: Results) -> str:
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(results.began))
    counts = f"{words.count(len(results.players), 'learner')}, {words.count(len(results.question_ids), 'question')}"
    return f"Round {results.round}, begun {when}: {counts}."


def cards(findings: RoundFindings) -> list[Card]:
    return [*summary(findings), *(_question(findings.results, item) for item in findings.items)]


def summary(findings: RoundFindings) -> list[Card]:
    """The cards about the whole round. Those without a content are left out."""
    notes = paragraph(*(line(note, tone="note") for note in findings.results.notes))
    all_cards = [
        parts.verdict(findings.verdict),
        Card("notes", "", (notes,) if notes["lines"] else ()),
        Card("revision", "To go over again", (paragraph(*_revision(findings)),) if findings.revision else ()),
        _overview(findings),
        _learners(findings),
    ]
    return [card for card in all_cards if card.parts]


def _revision(findings: RoundFindings) -> Iterable[Part]:
    for item in findings.revision:
        yield line(f"{item.number}. {item.text}", tone="message")
        yield line(f"{item.right} of {item.judged} had it right.")
        if wrong := item.commonest_wrong:
            numbering = " (as numbered in the right order)" if item.type == "order" else ""
            text = wrong.text if len(wrong.text) <= SHORT else wrong.text[: SHORT - 1].rstrip() + "…"
            yield line(f"{text}{numbering} ({wrong.count} of {item.answered})", "The most common wrong answer:")
            if wrong.feedback:
                yield line(wrong.feedback, "What to say:")


def _overview(findings: RoundFindings) -> Card:
    rows = [
        (
            f"{item.number}. {item.text}",
            "–" if item.share is None else bar(item.share, _share(item), "good"),
            f"{item.answered} of {item.there}",
            "–" if item.discrimination is None else f"{item.discrimination:.2f}",
        )
        for item in findings.items
    ]
    heads = ("Question", "Right", "Answered", "Discrimination")
    counting = paragraph(*(line(text, tone="about") for text in COUNTING))
    return Card("questions", "Questions", (table(heads, rows), counting) if rows else ())


def _share(item: Item) -> str:
    return f"{words.percent(item.share or 0.0)} ({item.right} of {item.judged})"


def _learners(findings: RoundFindings) -> Card:
    numbers = {item.id: str(item.number) for item in findings.items}
    rows = [
        (
            learner.nickname,
            f"{round(learner.points, 1):g} of {round(learner.possible, 1):g}",
            f"{learner.right} of {learner.judged}",
            f"{learner.answered} of {learner.there}",
            ", ".join(map(numbers.__getitem__, learner.wrong)) or "–",
            ", ".join(map(numbers.__getitem__, learner.missed)) or "–",
        )
        for learner in findings.learners
    ]
    people = table(("Learner", "Points", "Right", "Answered", "Wrong", "Missed"), rows)
    return Card("learners", "Learners", (people,) if rows else ())


def _question(results: Results, item: Item) -> Card:
    """One question with its answers."""
    question = results.deck.question(item.id)
    figures = f"{item.answered} of {item.there} answered"
    if item.share is not None:
        figures += f"; {_share(item)} right"
    contents = [
        parts.markup(rendering.html(question.text, results.numbers.get(item.id))),
        paragraph(line(f"{figures}.")),
        *_answers(item.chosen, item.answered),
    ]
    if votes := sum(row.count for row in item.first):
        contents.append(paragraph(line("First vote, before the class talked", tone="label")))
        contents += _answers(item.first, votes)
    if item.gain is not None:
        contents.append(paragraph(line(item.gain.words)))
    return Card(f"question-{item.number}", f"Question {item.number}", tuple(contents))


def _answers(rows: Sequence[AnswerChoice], answered: int) -> Iterable[Part]:
    """The answers with a bar for each; nothing where nobody answered."""
    if answered:
        yield table(("", "Answer", "Chosen by"), [_answer(row, answered) for row in rows])


def _answer(row: AnswerChoice, answered: int) -> Sequence[str | Part]:
    labels = dict.fromkeys((row.label, "right") if row.right else (row.label,))
    share = bar(row.count / answered, str(row.count), "good" if row.right else "" if row.right is None else "calm")
    return ", ".join(labels), row.text, share
