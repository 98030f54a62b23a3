"""Decks that come with the labs, kept at hand as long as their files stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quiz.nine import DECK, YAML
from workshop.core.errors import BadInput
from workshop.quiz import reader
from workshop.quiz.reader import BadDeck


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "nine.yaml").write_text(YAML)
    monkeypatch.setattr(reader, "shipped", lambda: {path.stem: path for path in sorted(tmp_path.glob("*.yaml"))})
    return tmp_path


def test_a_deck_is_read_once_and_again_when_it_has_changed(folder: Path) -> None:
    deck, where = reader.deck("nine")
    assert (deck, where) == (DECK, folder)
    assert reader.deck("nine")[0] is deck
    (folder / "nine.yaml").write_text(YAML.replace("One of each", "Two of each"))
    assert reader.deck("nine")[0].title == "Two of each"


def test_bad_ones_stand_beside_good_ones(folder: Path) -> None:
    (folder / "broken.yaml").write_text("deck: [")
    found = reader.lab_decks()
    assert isinstance(found["broken"], BadDeck)
    assert found["nine"] == DECK
    with pytest.raises(BadDeck):
        reader.deck("broken")


@pytest.mark.parametrize("name", ["", "nothing", "../nine", "nine.yaml", "x" * 5000])
def test_only_names_open_a_deck(folder: Path, name: str) -> None:
    with pytest.raises(BadInput, match="There is no quiz") as refused:
        reader.deck(name)
    assert len(str(refused.value)) < 200
