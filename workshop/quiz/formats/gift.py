"""Moodle GIFT, written. The grammar is that of Moodle's import (question/format/gift); `gift_read` reads it.

Texts are written as Markdown, which Moodle knows; those with formulas as HTML, where MathJax finds them. Characters
that mean something are escaped, and every text stands behind the name of its format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.quiz.deck import Deck, Match, Number, Text
from workshop.quiz.formats import categories, markup
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.exporter import Carries, Given, decimal, given, margin
from workshop.quiz.formats.gift_read import read

__all__ = ["read", "write"]

_CARRIES = Carries(
    "GIFT",
    frozenset({"single", "multiple", "number", "match", "text"}),
    frozenset({"explanation", "tags", "feedback", "id", "title"}),
)
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\~=#{}:"} | {"\n": "\\n", "\r": None})


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """A deck as GIFT. Raises BadInput where there is no question that GIFT can carry."""
    made = given(deck, _CARRIES, {})
    blocks = [f"$CATEGORY: {categories.part(deck.title)}"]
    for question in made.questions:
        if block := _question(question, made):
            blocks.append(block)
    return Exported(("\n\n".join(blocks) + "\n").encode(), tuple(made.lost))


def _question(question: Any, made: Given) -> str:
    answers = _answers(question, made)
    if not answers:
        return ""
    if question.explanation:
        answers.append("####" + _text(question.explanation))
    tags = [tag for tag in question.tags if not set(tag) & set("[]<>`\\")]
    if len(tags) < len(question.tags):
        made.lose(question, "tags", f"its tags ({', '.join(question.tags)}); GIFT has none with brackets in them")
    comment = "// " + " ".join(f"[tag:{tag}]" for tag in tags) + "\n" if len(tags) == len(question.tags) > 0 else ""
    brace = "{#" if isinstance(question, Number) else "{"
    lines = "".join(f"\t{answer}\n" for answer in answers)
    return f"{comment}::{_escaped(question.id)}::{_text(question.text)}{brace}\n{lines}}}"


def _answers(question: Any, made: Given) -> list[str]:
    if isinstance(question, Match):
        return _pairs(question, made)
    if isinstance(question, Text):
        return _words(question, made)
    if isinstance(question, Number):
        answers = [f"=%100%{decimal(question.answer)}:{margin(question.tolerance, question.answer)}"]
        for near in question.near:
            off = margin(near.tolerance or question.tolerance, near.answer)
            answers.append(f"=%0%{decimal(near.answer)}:{off}#{_text(near.feedback)}")
        return answers
    share = 100 / len(question.right)
    if len(question.right) > 10:
        made.lose(question, "", f"that its {len(question.right)} right options share the points; Moodle has tenths")
    answers = []
    for option in question.options:
        if question.type == "single":
            mark = "=" if option.right else "~"
        else:
            mark = f"~%{'' if option.right else '-'}{share:.7g}%"
        answers.append(mark + _text(option.text) + (f"#{_text(option.feedback)}" if option.feedback else ""))
    return answers


def _words(question: Text, made: Given) -> list[str]:
    if any("->" in form for form in (*question.accept, *(form for near in question.near for form in near.accept))):
        made.lose(question, "question", "an accepted form with ->, which makes GIFT take it for pairs to be matched")
        return []
    answers = [f"=%100%{_form(form)}" for form in question.accept]
    return answers + [f"=%0%{_form(form)}#{_text(near.feedback)}" for near in question.near for form in near.accept]


def _pairs(question: Match, made: Given) -> list[str]:
    if any(markup.marked(right) for right in question.rights):
        made.lose(question, "formatting", "the formatting of what is on the right; GIFT has plain text there")
    lefts = [_text(pair.left, arrow=True) for pair in question.pairs]
    plain = [markup.plain(right) for right in question.rights]
    if len(set(plain)) < len(plain) or not all(plain):
        made.lose(question, "question", "answers that are alike without their formatting")
        return []
    pairs = zip(lefts, plain, strict=False)
    extra = plain[len(question.pairs) :]
    return [f"={left} -> {_escaped(right)}" for left, right in pairs] + [f"= -> {_escaped(right)}" for right in extra]


def _text(markdown: str, arrow: bool = False) -> str:
    """A text with its format before it; with `arrow`, one that has no ->."""
    made = markup.html(markdown).strip()
    formulas = any(sign in made for sign in ("\\(", "\\[", "<span></span>"))
    if formulas or (arrow and "->" in markdown):
        return "[html]" + _escaped(made)
    return "[markdown]" + _escaped(markdown.strip())


def _form(words: str) -> str:
    """An accepted form, in which a star would stand for anything; [plain] keeps a % or [ from being read."""
    return "[plain]" + _escaped(words.replace("*", "\\*"))


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
