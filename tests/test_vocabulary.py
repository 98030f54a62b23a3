"""Names say what they hold: words that fit anything are the name of nothing."""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "workshop").rglob("*.py"), *(ROOT / "app").rglob("*.py")])
FORBIDDEN = frozenset(
    """
    again alike apart asked brought door drawn found given grip heard held hold kept known left lending
    lookout made meant mine of one own post posts said seat seen shown sight so standing taken telling
    theirs then there those told vigil wanted whole why_not yet
    """.split()  # noqa: SIM905  # a text is easier to read than forty strings
)
# Fields that are stored, sent or written under these names.
FIELDS = {
    "workshop/course/progress.py": {"own", "said"},
    "workshop/quiz/live.py": {"left"},
    "workshop/quiz/parts.py": {"left"},
    "workshop/quiz/results/comparison.py": {"of"},
    "workshop/quiz/results/findings.py": {"of", "there"},
    "workshop/quiz/types/place.py": {"given"},
    "workshop/store/records.py": {"said"},
    "workshop/notebook/jupyter/extension.py": {"post"},  # the handler of an HTTP method
    "workshop/cli/templates/workload/my_workload_workshop/labs/my-workload/checks.py": {"given"},
}


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names of functions, classes, parameters and variables, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def vague_names(text: str) -> list[tuple[int, str]]:
    return [(line, name) for line, name in bound_names(ast.parse(text)) if name.strip("_").lower() in FORBIDDEN]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_say_what_they_hold(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    allowed = FIELDS.get(name, set())
    wrong = [f"{name}:{line}: {word}" for line, word in vague_names(path.read_text()) if word not in allowed]
    assert wrong == [], "take the noun for what it holds: run, trial, message, match"


def test_vague_names_are_noticed() -> None:
    text = "def found(told, *, _one):\n    for there in told:\n        (seat := there)\nclass Grip:\n    said: str\n"
    assert [name for _, name in sorted(vague_names(text))] == ["_one", "found", "told", "there", "seat", "Grip", "said"]
    assert vague_names("runs = [run for run in store.runs() if run.found]\n") == []


DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Values, and words of other programs, that docstrings name and code doesn't spell out.
VALUES = {"auto", "cnn", "customdata", "hostA", "hostB", "namespace", "numba"}


def words_of_code(tree: ast.AST) -> set[str]:
    """All names in a module, and all words in its strings other than docstrings."""
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, DOCUMENTED) and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    words = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words.update(re.findall(r"\w+", node.value))
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            words.update(str(getattr(node, field, None) or "").split("."))
    return words


@functools.cache
def defined_names() -> frozenset[str]:
    """The names of all modules, and of what they and their classes define."""
    names = {*dir(builtins), *keyword.kwlist}
    for path in SOURCES:
        names.update(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text())
        for body in [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
            names.update(node.name for node in body if isinstance(node, DOCUMENTED))
            for node in body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    names.add(node.target.id)
    return frozenset(names)


def unknown_names(text: str) -> list[str]:
    """The names in a module's docstrings, `so` and after Raises, that aren't in its code and that no module defines."""
    tree = ast.parse(text)
    known = words_of_code(tree) | defined_names() | VALUES
    unknown = []
    for node in ast.walk(tree):
        docstring = (ast.get_docstring(node) or "") if isinstance(node, DOCUMENTED) else ""
        documented = re.findall(r"`([a-z]+)`|Raises ([A-Z]\w+)", docstring)
        unknown += [f"{node.lineno}: {variable or error}" for variable, error in documented
                    if (variable or error) not in known]  # fmt: skip
    return unknown


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_name_what_exists(path: Path) -> None:
    assert unknown_names(path.read_text()) == [], "name the parameter, or the error, as it is called now"


def test_names_of_before_are_noticed() -> None:
    text = 'def run(wait: int) -> None:\n    """Wait `wait` s, then `waitt` s. Raises LostRank, and ValueError."""\n'
    assert unknown_names(text) == ["1: waitt", "1: LostRank"]
