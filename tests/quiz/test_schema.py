"""The schema that editors read: fresh, explained, and true of the decks that are shipped."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml

from tests.quiz.nine import YAML
from workshop.core import config, yaml_files
from workshop.quiz import deck, reader

FILE = config.labs_folder() / "quiz.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(deck.schema())


def test_the_file_is_fresh() -> None:
    told = "write it anew: workshop quiz schema > labs/quiz.schema.json"
    assert json.loads(FILE.read_text()) == deck.schema(), told
    VALIDATOR.check_schema(deck.schema())


def test_everything_is_explained() -> None:
    made = deck.schema()
    for name, part in {"Deck": made, **made["$defs"]}.items():
        assert part.get("description"), name
        for field, about in part["properties"].items():
            assert about.get("description"), f"{name}.{field}"


@pytest.mark.parametrize("path", reader.shipped().values(), ids=lambda path: path.parent.name)
def test_decks_of_the_labs_name_the_schema_and_keep_to_it(path: Any) -> None:
    text = path.read_text()
    first = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.partition("\n")[0])
    assert first and (path.parent / first[1]).resolve() == FILE.resolve()
    assert [error.message for error in VALIDATOR.iter_errors(document(text))] == []


def document(text: str) -> Any:
    return yaml_files.document(*yaml_files.compose(text))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("typ: single", "type: single"),
        ("type: sngle", "type: single"),
        ("title: One of each\n", ""),
        ("right: yes please", "right: true"),
        ("tolerance: {absolute: -1}", "tolerance: {absolute: 0}"),
    ],
)
def test_what_is_wrong_is_marked(wrong: str, right: str) -> None:
    broken = YAML.replace(right, wrong, 1) if right else YAML.replace(wrong, "", 1)
    assert broken != YAML and not VALIDATOR.is_valid(yaml.safe_load(broken))
    assert VALIDATOR.is_valid(yaml.safe_load(YAML))
