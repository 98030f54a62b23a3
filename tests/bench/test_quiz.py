"""The bench of quizzes, in small: a real server, and learners in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.bench import quiz
from workshop.core.errors import BadInput


@pytest.mark.real
def test_twenty_learners_are_all_confirmed_and_kept(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiz, "OF_A_PROCESS", 12)
    document = quiz.run([20], 0.5, None)
    assert document["bench"] == "quiz"
    (row,) = document["rows"]
    assert (row["learners"], row["confirmed"], row["stored"], row["lost"], row["doubled"]) == (20, 60, 60, 0, 0)
    assert row["screens"] == 60, "everybody saw every question"
    assert 0 < row["p95_answer_s"] <= row["max_answer_s"]
    assert 0 < row["p95_next_s"] <= row["max_next_s"]


@pytest.mark.parametrize("given", ["", "a", "0", "5,,6", "20000", "-3"])
def test_numbers_of_learners_that_are_none(given: str) -> None:
    with pytest.raises(BadInput, match="--learners"):
        quiz.read_learners(given)
    assert quiz.read_learners(" 5, 60") == (5, 60)
