"""The dictionary: code that Python can read, and commands that start the same ranks."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import reading
from workshop.mpi import reader


def test_each_step_has_code_or_a_note_in_each_framework() -> None:
    entries = reading.read_dictionary()
    assert len(entries.steps) == 10 and len(entries.frameworks) == 6
    for step in entries.steps:
        for name, entry in step.entries.items():
            assert entry.code or entry.note, (step.title, name)
            ast.parse(entry.code)


def test_commands_of_mpis_start_the_ranks_that_the_dictionary_names() -> None:
    placements = {}
    for command in reading.read_dictionary().launch.commands:
        if command.title.partition(" ")[0] in ("torchrun", "DeepSpeed"):
            continue
        read = reader.parse(command.line)
        placements[command.title] = read.placement
        assert read.unknown in ((), ("--cpu-bind=cores",)), command.title
    assert len(placements) == 6
    for title, placement in placements.items():
        assert placement.ranks == 4, title
        assert [(host.name, host.slots) for host in placement.hosts] == [("n1", 2), ("n2", 2)], title
        assert placement.bind_to in ("auto", "core"), title


def test_a_damaged_dictionary_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / reading.DICTIONARY
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=r"dictionary\.yaml"):
        reading.read_dictionary()
    shutil.copy(Path(__file__).parents[2] / "labs" / reading.DICTIONARY, path)
    path.write_text(path.read_text().replace('      mpi: {code: "rate', '      mpo: {code: "rate'))
    with pytest.raises(BadInput, match="'Scale the learning rate' should have an entry for each framework"):
        reading.read_dictionary()
    path.write_text("frameworks: {}\n")
    with pytest.raises(BadInput, match="steps: Field required"):
        reading.read_dictionary()
