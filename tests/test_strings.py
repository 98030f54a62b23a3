"""Programs in strings, which other processes run: what they import is there. No linter reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

from tests.affected import ROOT

IMPORT = re.compile(r"\b(?:from (workshop[\w.]*) )?import (\w[\w., ]*)")


def _imports(text: str) -> Iterator[tuple[str, list[str]]]:
    for module, names in IMPORT.findall(text):
        if module:
            yield module, [name.split(" as ")[0].strip() for name in names.split(",")]


def _programs() -> Iterator[tuple[str, str, list[str]]]:
    for folder in ("workshop", "tests", "app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "test_strings" not in path.name and "templates" not in path.parts:
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield from ((path.name, *found) for found in _imports(node.value))


def _there(module: str, name: str) -> bool:
    return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize(("file", "module", "names"), list(_programs()))
def test_what_they_import_is_there(file: str, module: str, names: list[str]) -> None:
    assert find_spec(module) is not None, f"{file} names {module}"
    missing = [name for name in names if name and not _there(module, name)]
    assert missing == [], f"{file} imports them from {module}"
