"""What of a deck should come back from GIFT: everything but what is listed as lost."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from workshop.quiz import expressions, rendering
from workshop.quiz.deck import Deck, ask
from workshop.quiz.gift.reader import read
from workshop.quiz.gift.writer import write


def there_and_back(deck: Deck, file: Path) -> tuple[Deck, dict[str, set[str]]]:
    """The deck that comes back, and which parts of which question were lost; checks that the two fit together."""
    data, written = write(deck)
    file.write_bytes(data)
    back, read_losses = read(file)
    assert not read_losses, read_losses
    lost: dict[str, set[str]] = {}
    for loss in written:
        lost.setdefault(loss.question, set()).add(loss.part)
    check(deck, back, lost)
    return back, lost


def check(deck: Deck, back: Deck, lost: dict[str, set[str]]) -> None:
    of_deck = lost.get("", set())
    if "title" not in of_deck:
        assert back.title == " ".join(deck.title.split())
    if "deck" not in of_deck:
        assert back.deck == deck.deck
    if "about" not in of_deck:
        assert look(back.about) == look(deck.about)
    kept = [one for one in deck.questions if "question" not in lost.get(one.id, set())]
    assert len(back.questions) == len(kept)
    for one, other in zip(kept, back.questions, strict=True):
        if "id" not in of_deck:
            assert other.id == one.id
        loose = bool({"formatting"} & (lost.get(one.id, set()) | lost.get(other.id, set())))
        same(deck, one, back, other, lost.get(one.id, set()) | of_deck, loose)


def same(deck: Deck, one: Any, back: Deck, other: Any, lost: set[str], loose: bool) -> None:
    numbers = ask(deck, one, "export").numbers
    assert ("numbers" in lost) == bool(numbers)

    def alike(first: str, second: str) -> None:
        seen = words if loose else look
        assert seen(first, numbers) == seen(second, {}), (first, second)

    assert other.type == one.type
    alike(one.text, other.text)
    for part, before, after in (
        ("points", deck.points_of(one), back.points_of(other)),
        ("seconds", deck.seconds_of(one), back.seconds_of(other)),
        ("tags", one.tags, other.tags),
        ("source", one.source, other.source),
        ("check", one.check, other.check),
        ("unit", getattr(one, "unit", ""), getattr(other, "unit", "")),
        ("picture", one.picture, other.picture),
        ("shuffle", _shuffled(deck, one), _shuffled(back, other)),
    ):
        assert part in lost or before == after, part
    if "explanation" not in lost:
        alike(one.explanation, other.explanation)
    match one.type:
        case "poll":
            for first, second in zip(one.options, other.options, strict=True):
                alike(first.text, second.text)
        case "single" | "multiple":
            assert other.right == one.right and len(other.options) == len(one.options)
            for first, second in zip(one.options, other.options, strict=True):
                alike(first.text, second.text)
                if "feedback" not in lost:
                    alike(first.feedback, second.feedback)
        case "number":
            numbers_alike(one, other, numbers)
            if "feedback" not in lost:
                for first, second in zip(one.near, other.near, strict=True):
                    assert second.answer == value(first.answer, numbers)
                    alike(first.feedback, second.feedback)
        case "order":
            for first, second in zip(one.items, other.items, strict=True):
                alike(first, second)
        case "match":
            for first, second in zip(one.pairs, other.pairs, strict=True):
                alike(first.left, second.left)
            assert len(one.rights) == len(other.rights)
            for first, second in zip(one.rights, other.rights, strict=True):
                alike(first, second)
        case "text":
            assert other.accept == one.accept
            if "feedback" not in lost:
                before = {form: near.feedback for near in one.near for form in near.accept}
                after = {form: near.feedback for near in other.near for form in near.accept}
                assert set(after) == set(before)
                for form, feedback in before.items():
                    alike(feedback, after[form])


def numbers_alike(one: Any, other: Any, numbers: dict[str, float]) -> None:
    answer = value(one.answer, numbers)
    assert math.isclose(other.answer, answer, rel_tol=1e-12, abs_tol=1e-12)
    off = one.tolerance.around(answer)
    assert math.isclose(other.tolerance.around(answer), off, rel_tol=1e-9, abs_tol=1e-12)


def value(answer: Any, numbers: dict[str, float]) -> float:
    return expressions.evaluate(answer, numbers) if isinstance(answer, str) else answer


def words(markdown: str, numbers: dict[str, float]) -> str:
    """The characters of a text, without its marks."""
    return "".join(rendering.plain(markdown, numbers).replace("$", "").split())


def look(markdown: str, numbers: dict[str, float] | None = None) -> str:
    """How a text looks, but for where its lines are broken."""
    shown = re.sub(r"</?p>", " ", rendering.html(markdown, numbers).replace("\u00a0", " "))
    return re.sub(r"\s*(<[^>]*>)\s*", r"\1", " ".join(shown.split()))


def _shuffled(deck: Deck, question: Any) -> bool:
    return question.type in ("single", "multiple", "poll") and deck.shuffles(question)
