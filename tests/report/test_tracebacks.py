"""Tracebacks without the server's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import workshop
from workshop.report.sentences import short_traceback

HERE = Path(workshop.__file__).parent.parent


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"{HERE}/workshop/engine/host.py", "workshop/engine/host.py"),
        ("/srv/x/.venv/lib/python3.11/site-packages/keras/src/trainer.py", "keras/src/trainer.py"),
        ("/usr/lib/python3.12/json/decoder.py", "json/decoder.py"),
        ("/home/some one/notes/my lab.py", "my lab.py"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
    ],
)
def test_files_are_named_from_their_package_on(path: str, shown: str) -> None:
    trace = (
        f'Traceback (most recent call last):\n  File "{path}", line 12, in work\n    x = 1 / 0\nZeroDivisionError: no'
    )
    assert short_traceback(trace) == trace.replace(path, shown)


def test_groups_of_errors_too() -> None:
    trace = '  | Traceback (most recent call last):\n  |   File "/a/b/c.py", line 1, in d\n'
    assert '  |   File "c.py", line 1' in short_traceback(trace)
