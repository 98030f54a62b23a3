"""Which modules of the package some test files reach: by imports, and by names in strings, for what runs elsewhere."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.affected import ROOT, imports, module_of

PACKAGE = "workshop"
WORD = re.compile(rf"\b{PACKAGE}\.[a-z_.]+")


def reached(tests: Iterable[str]) -> set[str]:
    """Modules that the test files import, directly or indirectly, and those that they or these name in a string.

    A program that a test starts is named in a string (`-m workshop.sessions.conductor`), and so is an entry point or a
    function that ranks load (`workshop.workloads.kmeans.ranks:run`).
    """
    graph = imports()
    found: set[str] = set()
    waiting = {module_of(test) for test in tests}
    while waiting:
        module = waiting.pop()
        if module in found or module not in graph.modules:
            continue
        found.add(module)
        waiting |= graph.find_modules_directly_imported_by(module) | _named(module)
        if module == f"{PACKAGE}.registry":
            waiting |= entry_points(ROOT / "pyproject.toml") | _of_app()
    # A package is imported before its modules, but not all that it could load.
    packages = {module[:end] for module in found for end in range(len(module)) if module[end] == "."}
    return {module for module in found | packages if module.partition(".")[0] == PACKAGE}


@cache
def _named(module: str) -> frozenset[str]:
    """The modules whose names stand in a module's strings, docstrings left out, in a package's rules.yaml, or in the
    steps.yaml beside a module. The beginning of a formatted string stands for all modules that begin so:
    `f"workshop.mpi.{name}"`."""
    path = ROOT / module.replace(".", "/")
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())
    known = imports().modules
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    files = [path / "rules.yaml", path.parent / "steps.yaml"]
    names = {name for file in files if file.is_file() for name in WORD.findall(file.read_text())} & known
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            start = _beginning(node, module)
            names |= {name for name in known if start and name.startswith(start)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words = {word.rstrip(".") for word in WORD.findall(node.value)}
            names |= {f"{word}{end}" for word in words for end in ("", ".__main__")} & known
    return frozenset(names)


@cache
def _of_app() -> frozenset[str]:
    """What the dashboard's own pages import, which are no modules of the package; an entry point names them."""
    trees = [ast.parse(file.read_text()) for file in (ROOT / "app").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = {node.module for node in nodes if node.module}
    found |= {f"{node.module}.{name.name}" for node in nodes for name in node.names}
    return frozenset(found & imports().modules)


def _beginning(text: ast.JoinedStr, module: str) -> str:
    """What a formatted string begins with, where that is a package's name and a dot; else ""."""
    match text.values:
        case [ast.Constant(value=str(start)), *_] if re.fullmatch(rf"{PACKAGE}\.([a-z_]+\.)*", start):
            return start
        case [ast.FormattedValue(value=ast.Name(id="__name__")), ast.Constant(value="."), *_]:
            return f"{module}."
    return ""


def entry_points(pyproject: Path) -> set[str]:
    """The modules that pyproject.toml names as commands and as extensions."""
    project = tomllib.loads(pyproject.read_text())["project"]
    groups = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    return {value.partition(":")[0] for group in groups for value in group.values()}


def first_tier(file: Path) -> bool:
    """Whether a test file has a test that `make test` runs, whatever has changed."""
    tree = ast.parse(file.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and _exhaustive(node.value):
            return False
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    return any(not any(_exhaustive(mark) for mark in test.decorator_list) for test in tests)


def _exhaustive(node: ast.expr) -> bool:
    return "pytest.mark.exhaustive" in ast.unparse(node)
