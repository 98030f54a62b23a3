"""The papers for users and developers: what they name exists, and what they tell people to type can be typed."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.labs.test_text import unknown

ROOT = Path(__file__).parent.parent
PACKAGES = sorted((ROOT / "workshop").glob("*/__init__.py"))
PAPERS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PATH = re.compile(r"\b((?:workshop|app|tests)/[\w/]+\.(?:py|js))(?::(\w+(?:\.\w+)*))?")
FOLDER = re.compile(r"`((?:workshop|app|tests)/[a-z_0-9/]*)`")
MODULE = re.compile(r"(?<![\w./\"-])(workshop(?:\.\w+)+)")
METHOD = re.compile(r"`([A-Z]\w+\.\w+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ATTRIBUTES = {"workshop.attach", "workshop.compare", "workshop.lab", "workshop.place"}  # of the package in a notebook
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GROUP = "workshop.extensions"  # of entry points
DECISION = re.compile(r"^# (\d{4})\. .+\n\n## Context\n\n.+\n\n## Decision\n\n.+\n\n## Consequence\n\n.+\n$", re.DOTALL)


def named(paper: Path) -> str:
    return paper.relative_to(ROOT).as_posix()


@cache
def names(file: Path) -> frozenset[str]:
    """Functions, classes and their methods that a Python file defines, as `name` and `Class.name`; its constants."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}.{one}" for one in inner}
    return frozenset(found)


def exists(module: str) -> bool:
    """Whether there is such a module, or such a name in a module."""
    place = ROOT / module.replace(".", "/")
    if place.is_dir() or place.with_suffix(".py").is_file():
        return True
    files = (place.parent.with_suffix(".py"), place.parent / "__init__.py")
    return any(file.is_file() and place.name in names(file) for file in files)


def missing(text: str) -> list[str]:
    """Files, functions and modules that a text names and that don't exist."""
    found = []
    for path, name in PATH.findall(text):
        file = ROOT / path
        if not file.is_file() or (name and name not in names(file)):
            found.append(f"{path}:{name}" if name else path)
    found += [folder for folder in FOLDER.findall(text) if not (ROOT / folder).exists()]
    for module in MODULE.findall(text):
        if module not in ATTRIBUTES | {GROUP} and not exists(module):
            found.append(module)
    return found


@pytest.mark.parametrize("paper", PAPERS, ids=named)
def test_what_a_paper_names_exists(paper: Path) -> None:
    assert missing(paper.read_text()) == []


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("`workshop/nothing.py` and `workshop/nothing/`", ["workshop/nothing.py", "workshop/nothing/"]),
        ("`workshop/registry.py:extensions`, `workshop/registry.py:none`", ["workshop/registry.py:none"]),
        ("`workshop.core.placement`, `workshop.web.push`", ["workshop.web.push"]),
    ],
)
def test_a_name_of_something_that_is_gone_is_found(text: str, gone: list[str]) -> None:
    assert missing(text) == gone


def test_modules_that_docstrings_of_packages_name_exist() -> None:
    gone = {}
    for package in PACKAGES:
        told = set(re.findall(r"`([a-z_]+)`", ast.get_docstring(ast.parse(package.read_text())) or ""))
        there = {path.stem for path in package.parent.rglob("*")}
        if len(told & there) > 2:  # it lists its modules
            gone[named(package)] = sorted(told - there - names(package))
    assert {package: modules for package, modules in gone.items() if modules} == {}
    assert len(gone) > 9


@pytest.mark.parametrize("paper", PAPERS, ids=named)
def test_links_of_a_paper_lead_somewhere(paper: Path) -> None:
    links = [link for link in LINK.findall(paper.read_text()) if not link.startswith(("http:", "https:"))]
    assert [link for link in links if not (paper.parent / link).exists()] == []


@pytest.mark.parametrize("paper", PAPERS, ids=named)
def test_commands_of_a_paper_can_be_typed(paper: Path) -> None:
    lines = [line for block in BLOCK.findall(paper.read_text()) for line in block.splitlines()]
    typed = [shlex.split(line, comments=True) for line in lines if line.startswith("workshop ")]
    assert [(words, wrong) for words in typed if (wrong := unknown(words))] == []


def test_architecture_is_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 120


ROOM = re.compile(r"^\| (`.+?) \|.*\| (\d+) \|$", re.MULTILINE)


@pytest.mark.parametrize(("room", "most"), ROOM.findall((ROOT / "ARCHITECTURE.md").read_text()))
def test_a_room_has_no_more_lines_than_its_most(room: str, most: str) -> None:
    files = [file for name in re.findall(r"`(.+?)`", room) for file in [ROOT / name, *(ROOT / name).rglob("*.py")]]
    lines = sum(len(file.read_text().splitlines()) for file in files if file.is_file())
    assert 0 < lines <= int(most), f"{room} has {lines} lines"


def test_every_package_is_a_room() -> None:
    rooms = {name for room, _ in ROOM.findall((ROOT / "ARCHITECTURE.md").read_text()) for name in room.split("`")[1::2]}
    assert rooms >= {named(package.parent) for package in PACKAGES}


def test_methods_of_the_walks_are_in_the_files_that_the_walks_name() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    there = {name for path, _ in PATH.findall(text) if path.endswith(".py") for name in names(ROOT / path)}
    assert set(METHOD.findall(text)) - there == set()


def test_every_decision_has_its_parts_and_stands_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    files = sorted(folder.glob("[0-9]*.md"))
    assert [file.name for file in files if not DECISION.match(file.read_text())] == []
    assert [file.name for file in files if not file.read_text().startswith(f"# {file.name[:4]}. ")] == []
    assert re.findall(r"\[\d{4}\]\(([^)]+)\)", (folder / "README.md").read_text()) == [file.name for file in files]


def test_every_direct_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"].values()
    extras = project["project"]["optional-dependencies"].values()
    direct = [*project["project"]["dependencies"], *(one for group in (*groups, *extras) for one in group)]
    told = re.findall(r"^- `([\w-]+)`: .+[.]$", (ROOT / "docs/decisions/dependencies.md").read_text(), re.MULTILINE)
    assert sorted(told) == sorted(re.split(r"[=\[<>]", one)[0] for one in direct)
