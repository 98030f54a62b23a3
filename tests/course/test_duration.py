"""Estimates of how long a lab takes."""

from __future__ import annotations

from tests.course import style
from workshop.course import source


def estimate(text: str) -> float:
    return style.estimate(source.parse(text), None)


def test_words_runs_predictions_and_exercises_take_time() -> None:
    words = "# Lab\n\n" + "word " * 2 * style.READING
    assert 2 <= estimate(words) < 2.1
    run = estimate(words + '\n\n```python\nlab.predict("a", 1)\nsession.run("kmeans")\n```\n') - estimate(words)
    assert abs(run - (2 * style.LINE + style.PREDICTION + style.RUN)) < 1e-9
    exercise = (
        '\n\n```python tags=["exercise"]\ndef f():\n    # BEGIN SOLUTION\n    return 1\n    # END SOLUTION\n```\n'
    )
    assert abs(estimate(words + exercise) - estimate(words) - style.EXERCISE) < 1e-9


def test_extras_are_no_part_of_the_core() -> None:
    core = "# Lab\n\n## Run\n\nOne.\n"
    extra = "\n## Exercise 3 (extra): more\n\n" + "word " * 500 + "\n\n```python\nx = 1\n```\n"
    behind = "\n## Quiz\n\nEnd.\n"
    assert abs(estimate(core + extra + behind) - estimate(core + behind)) < 1e-9
