"""Run sheets: every lab's, and one that can't be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core.errors import BadInput
from workshop.course import catalogue, reading


def test_every_lab_s_run_sheet_fills_the_lab_s_time() -> None:
    for folder, lab in catalogue.readable():
        steps = reading.read_run_sheet(folder)
        starts = [sum(step.minutes for step in steps[:place]) for place in range(len(steps) + 1)]
        assert [step.start for step in steps] == starts[:-1] and starts[-1] == lab.minutes, folder.name
        parts = [step.part for step in steps]
        assert parts == sorted(parts) and parts[-1] <= len(reading.read(folder)), folder.name
        assert steps[-1].deck == lab.deck, folder.name
        assert all(step.exercise <= len(lab.exercises) for step in steps if step.exercise), folder.name


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("# Run sheet", "has no table with the columns from | min | part"),
        (
            f"| {' | '.join(reading.COLUMNS)} |\n|---|---|---|---|---|---|\n| 0 | many | 1 | a | b | c |",
            "line 3: a row has",
        ),
        (f"| {' | '.join(reading.COLUMNS)} |\n|---|---|---|---|---|---|\n| 0 | 3 | a |", "line 3: a row has"),
    ],
)
def test_a_run_sheet_that_can_t_be_read(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / reading.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        reading.read_run_sheet(tmp_path)
    assert wrong in str(raised.value)
