"""Questions with lettered options: `single`, `multiple` and `poll`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core import words
from workshop.quiz import rendering
from workshop.quiz.form_errors import Mistake
from workshop.quiz.parts import LETTERS, Option, Picture, PollOption, combinations, drawn_words
from workshop.quiz.rendering import ANSWERS, html
from workshop.quiz.types.base import DrawnQuestion, Mark, Question, keyed, read_key, read_keys, repeated

MOST_COMPARED = 50  # combinations of numbers with which options are compared


class WithOptions(Question):
    """A question with options."""

    form: ClassVar[str] = "choice"

    options: tuple[PollOption, ...] = Field(min_length=2, max_length=12, description="what can be chosen")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        yield from repeated("options", "options: the option", (option.text for option in self.options))

    def problems(self) -> Iterator[Mistake]:
        """Report options that are equal for some numbers; without numbers, `faults` has reported them already."""
        for numbers in islice(combinations(self.numbers), MOST_COMPARED) if self.numbers else ():
            places_by_text: dict[str, int] = {}
            for place, option in enumerate(self.options):
                text = rendering.plain(option.text, numbers)
                if text in places_by_text and option.text.split() != self.options[places_by_text[text]].text.split():
                    first = f"option {places_by_text[text] + 1} {drawn_words(numbers)}: {text}"
                    yield ("options", place), f"this option is the same as {first}"
                    return
                places_by_text[text] = place

    def places(self, chance: random.Random, shuffle: bool) -> list[int]:
        places = list(range(len(self.options)))
        if shuffle:
            chance.shuffle(places)
        return places

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        return super().view(variant, picture) | {"options": keyed(variant, [option.text for option in self.options])}

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        options = [self.options[number] for number in variant.order]
        right = [key for key, option in zip(variant.keys, options, strict=True) if _is_right(option)]
        return super().solution(variant) | {
            "html": "".join(html(option.text, variant.numbers) for option in options if _is_right(option)),
            "keys": right,
            "options": [
                {
                    "key": key,
                    "right": getattr(option, "right", None),
                    "feedback": html(getattr(option, "feedback", ""), variant.numbers),
                }
                for key, option in zip(variant.keys, options, strict=True)
            ],
        }

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        for letter, option in zip(LETTERS, self.options, strict=False):
            mark = "*" if answers and _is_right(option) else " "
            yield rendering.plain(option.text, variant.numbers), f" {mark} {letter}) ", "      "
            if answers and (feedback := getattr(option, "feedback", "")):
                yield rendering.plain(feedback, variant.numbers), "      - ", "        "

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return read_key(variant, raw)

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        return variant.key(answer)


class Choice(WithOptions):
    """A question with options that are right or wrong."""

    options: tuple[Option, ...] = Field(min_length=2, max_length=12, description="what can be chosen")

    @property
    def right(self) -> tuple[int, ...]:
        """The numbers of the right options, from 0."""
        return tuple(number for number, option in enumerate(self.options) if option.right)

    def feedback(self, variant: DrawnQuestion, answer: Collection[int]) -> tuple[str, ...]:
        """The feedback on these options, in the order of the variant."""
        texts = (self.options[number].feedback for number in sorted(answer, key=variant.order.index))
        return tuple(html(text, variant.numbers) for text in texts if text)


def _is_right(option: PollOption) -> bool:
    return getattr(option, "right", False)


def chosen(answer: Any) -> Collection[int]:
    """The numbers of the chosen options, also for types whose answer is a single number."""
    return answer if isinstance(answer, list | tuple) else (answer,)


class Single(Choice):
    """One option is right."""

    what: ClassVar[str] = "a single choice"

    type: Literal["single"] = Field(description="one option is right")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        if len(self.right) != 1:
            yield ("options",), f"options: {len(self.right)} of them are right; a single choice has one"

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        right = answer in self.right
        return Mark(float(right), right, self.feedback(variant, [answer]))


class Multiple(Choice):
    """Any number of options is right, at least one."""

    what: ClassVar[str] = "a choice of several options"
    form: ClassVar[str] = "choices"

    type: Literal["multiple"] = Field(description="any number of options is right")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        if not self.right:
            yield ("options",), "options: none of them is right; at least one should be"

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return sorted(read_keys(variant, raw, "chosen"))

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        return sorted(variant.key(number) for number in answer)

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        """Each wrong option cancels a right one."""
        right, chosen = set(self.right), set(answer)
        share = max(0.0, (len(chosen & right) - len(chosen - right)) / len(right))
        feedback = self.feedback(variant, answer)
        if missed := len(right - chosen):
            feedback += (ANSWERS.words(f"{words.count(missed, 'right answer')} {words.verb(missed)} missing."),)
        return Mark(share, chosen == right, feedback)


class Poll(WithOptions):
    """A poll: no option is right, and there are no points."""

    what: ClassVar[str] = "a poll, where nothing is right"
    marked: ClassVar[bool] = False

    type: Literal["poll"] = Field(description="nothing is right; what people think")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        if self.points:
            yield ("points",), "a poll has no points"

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        return Mark(0.0, None)
