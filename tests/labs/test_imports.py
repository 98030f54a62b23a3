"""What learners import works."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workshop.core import config

IMPORT = re.compile(r"^[ \t]*((?:from|import) workshop\b.*)$", re.MULTILINE)


def files() -> Iterator[Path]:
    """All files whose code learners and authors of labs see."""
    for folder in (config.notebooks_folder(), config.labs_folder(), config.app_folder().parent / "docs"):
        found = (path for path in sorted(folder.rglob("*")) if path.suffix in (".ipynb", ".md", ".py", ".yaml"))
        yield from (path for path in found if "openfl" not in path.parts)  # runs in OpenFL's own environment


def imports() -> dict[str, Path]:
    """Every line that imports something of ours, with a file that has it."""
    found = {}
    for path in files():
        text = path.read_text()
        if path.suffix == ".ipynb":
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        found |= dict.fromkeys(IMPORT.findall(text), path)
    return found


@pytest.mark.parametrize("line", [pytest.param(line, id=f"{path.name}-{line}") for line, path in imports().items()])
def test_what_labs_and_documents_import_is_there(line: str) -> None:
    exec(line, {})
