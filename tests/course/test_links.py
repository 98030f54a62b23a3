"""Links of notebooks: which files learners need beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.course import notebook


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one\n[a](labs/x/a.py) and ![b](<labs/x/b.svg> 'title')", [(1, "labs/x/a.py"), (1, "labs/x/b.svg")]),
        ("[a](https://mpi-forum.org) [b](#words) [c](mailto:a@b.org) [d](//host/x)", []),
        ("`[a](b)` and\n```text\n[a](b)\n```\n[c](d%20e)", [(4, "d e")]),
        ("```text\n[a](b)", []),
    ],
)
def test_relative_links(text: str, found: list[tuple[int, str]]) -> None:
    assert list(notebook.relative(text)) == found


def test_only_a_labs_own_files_are_for_learners(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "secret.py").write_text("")
    for name in ("a.py", "checks.py"):
        (tmp_path / "x" / name).write_text("")
    (tmp_path / "x" / "link.py").symlink_to(tmp_path / "secret.py")
    assert notebook.file("labs/x/a.py", tmp_path) == tmp_path / "x" / "a.py"
    for link in ("a.py", "labs/x/none.py", "labs/x/checks.py", "labs/x/link.py", "labs/x/../secret.py", "/labs/x/a.py"):
        assert notebook.file(link, tmp_path) is None
        assert notebook.problem(link, tmp_path)
