"""The glossary and the paths through the course."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import catalogue, reading


def test_each_lab_explains_terms_and_each_term_is_there_once() -> None:
    terms = reading.read_terms()
    names = [term.name.casefold() for term in terms]
    assert names == sorted(set(names))
    assert {term.lab for term in terms} == {folder.name for folder, _ in catalogue.readable()}
    by_name = {term.name: term for term in terms}
    assert by_name["All-reduce"].lab == "kmeans"  # of three labs, the first one in the course
    assert "\n" not in by_name["Drift"].text  # an item over several lines is one text
    assert by_name["Ranking"].text == by_name["Binding"].text  # of one item


def test_paths_add_up_the_minutes_of_their_labs() -> None:
    labs = {folder.name: lab for folder, lab in catalogue.readable()}
    by_title = {path.title: path for path in catalogue.read()}
    day = by_title["A day"]
    assert day.minutes(labs) == sum(labs[name].minutes for name in day.labs)
    longest = by_title["Three days"]
    assert longest.minutes(labs) > sum(labs[name].minutes for name in longest.labs)  # with the extras


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paths: [{title: A, audience: B, labs: [nowhere]}]", "There is no lab 'nowhere'"),
        ("paths: [{title: A, audience: B, labs: []}]", "paths.0.labs"),
        ("paths: [", "paths.yaml, line 1"),
    ],
)
def test_a_bad_file_of_paths_is_refused_with_its_fault(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / catalogue.FILE).write_text(text)
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=expected):
        catalogue.read()
