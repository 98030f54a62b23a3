"""Sentences that are hard for readers who learned English at school."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.course import style

STYLE = Path(__file__).parents[2] / "docs" / "style.md"


@pytest.mark.parametrize(
    "sentence",
    [
        "What differs is the shard.",
        "Never does it end by itself.",
        "It has the labels of those of it that count.",
        "They wait, and the cores are idle meanwhile.",
        "Behind the door stands a rank.",
    ],
)
def test_hard_sentences_are_found(sentence: str) -> None:
    assert next(iter(style.hard_sentences(f"A rank computes.\n\n{sentence}\n")))[0] == 2


def test_a_long_sentence_is_found_at_its_line() -> None:
    text = "Short.\n\nA rank " + "and another rank " * 12 + "wait.\n"
    (line, problem), *_ = style.hard_sentences(text)
    assert line == 2 and "more than 30" in problem


def test_code_tables_formulas_and_addresses_are_no_prose() -> None:
    code = (
        "```python\n"
        + "x " * 60
        + "\n```\n\n| "
        + "cell " * 60
        + "|\n\n    "
        + "word " * 60
        + "\n\nIt is $"
        + "x " * 60
        + "$."
    )
    assert not list(style.hard_sentences(code))


def test_questions_may_begin_with_what() -> None:
    assert not list(style.hard_sentences("What is the sum of all ranks?"))


def test_the_right_column_of_the_style_page_is_plain() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", STYLE.read_text(), re.MULTILINE)[1:]
    assert len(rows) >= 20
    for _, after in rows:
        assert not list(style.hard_sentences(after)), after
