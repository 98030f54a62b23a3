"""docs/sources.md: every item of the sources has a place, and every place exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.labs.test_text import unknown
from workshop.core import config
from workshop.quiz import reader
from workshop.registry import pages, studies, workloads

TABLE = Path(__file__).parents[1] / "docs" / "sources.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (works|partly|missing) \| (.*?) ?\|$", re.MULTILINE)
ROWS = ROW.findall(TABLE.read_text(encoding="utf-8"))


def exists(place: str) -> bool:
    """Whether a place of the table is there."""
    kind, _, rest = place.partition(":")
    name, _, part = rest.partition("#" if kind in ("lab", "further") else "/")
    labs = config.labs_folder()
    if kind in ("lab", "further"):
        lab, _, stem = name.partition("/")
        path = labs / lab / ("notebook.md" if kind == "lab" else f"further/{stem}.md")
        return re.search(rf"^#+ {re.escape(part)}$", path.read_text(encoding="utf-8"), re.MULTILINE) is not None
    if kind == "deck":
        return part in {question.id for question in reader.read(labs / name / reader.FILE).questions}
    if kind == "run":
        return name in workloads()
    if kind == "param":
        return part in workloads()[name].params.model_fields
    if kind == "preset":
        return part in {preset.title for preset in workloads()[name].presets}
    if kind == "study":
        return rest in studies()
    if kind == "page":
        return rest in {page.name for page in pages()}
    if kind == "command":
        return unknown(["workshop", *rest.split()]) == []
    return kind == "file" and (TABLE.parents[1] / rest).is_file()


def test_the_table_has_all_items() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 158))
    assert all((state == "works") == (why == "") for _, _, _, state, why in ROWS), "what isn't whole says why"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_its_places_exist(row: tuple[str, ...]) -> None:
    places = re.findall(r"`([^`]+)`", row[2])
    assert places and [place for place in places if not exists(place)] == [], row[1]
