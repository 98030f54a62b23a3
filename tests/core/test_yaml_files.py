"""YAML that people write, read as data with lines; what studies and decks make of it is tested with them."""

from __future__ import annotations

from typing import Any

import pytest

from workshop.core import yaml_files


def read(text: str) -> Any:
    return yaml_files.document(*yaml_files.compose(text))


def test_the_core_schema() -> None:
    text = "[off, no, yes, ~, null, true, False, 1, -2, 1.5, 1e3, 0x1F, 012, 1_000, .inf, 2026-01-01, 12:30:00, '1', =]"
    assert read(text) == [
        "off", "no", "yes", None, None, True, False, 1, -2, 1.5, 1000.0, "0x1F", 12, "1_000", ".inf", "2026-01-01",
        "12:30:00", "1", "=",
    ]  # fmt: skip
    assert read("") is None and read("a:\nb: ''") == {"a": None, "b": ""}


@pytest.mark.parametrize(
    "tag", ["!!set {a}", "!!binary YQ==", "!!timestamp 2026-01-01", "!!omap []", "!own x", "!!python/name:os.system x"]
)
def test_tags_of_other_kinds_are_refused(tag: str) -> None:
    with pytest.raises(yaml_files.Unreadable, match="could not determine a constructor") as refused:
        read(f"a: 1\nb: {tag}\n")
    assert refused.value.line == 2


def test_aliases_and_depth_are_refused() -> None:
    with pytest.raises(yaml_files.Unreadable, match="an alias"):
        read("a: &x [1]\nb: [*x, *x]\n")
    with pytest.raises(yaml_files.Unreadable, match="too deeply"):
        read("[" * 5000)


def test_keys_are_words_that_come_once() -> None:
    node, _ = yaml_files.compose("a: 1\nb: [{c: 1, c: 2}]\na: 3\n1: x\n? [y]\n: z\n")
    assert list(yaml_files.bad_keys(node)) == [
        (2, "'c' is there twice, first in line 2."),
        (3, "'a' is there twice, first in line 1."),
        (4, "a name should be a word."),
        (5, "a name should be a word."),
    ]
