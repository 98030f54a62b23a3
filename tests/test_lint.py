"""What `make lint` checks: the same before each commit, no silenced type error without a reason, names of classes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
RECIPE = re.compile(r"^lint:.*\n\t@(.+)$", re.MULTILINE)
IGNORED = re.compile(r"# type: ignore(?!\[[a-z-]+(, [a-z-]+)*\]  # \w)")


def test_pre_commit_runs_what_make_lint_runs() -> None:
    recipe = RECIPE.search((ROOT / "Makefile").read_text())
    assert recipe is not None
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repository["repo"] for repository in repositories} == {"local"}
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    assert [hook["entry"] for hook in hooks] == recipe[1].split(" && ")
    assert all(hook["always_run"] and not hook["pass_filenames"] for hook in hooks)


def test_a_silenced_type_error_has_its_code_and_a_reason() -> None:
    files = {file for folder in ("app", "tests", "workshop") for file in (ROOT / folder).rglob("*.py")}
    assert [file.name for file in files - {Path(__file__)} if IGNORED.search(file.read_text())] == []
    assert IGNORED.search("x = y  # type: ignore")
    assert IGNORED.search("x = y  # type: ignore[attr-defined]")
    assert not IGNORED.search("x = y  # type: ignore[misc, arg-type]  # the library has no types")


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "workshop" / "py.typed").is_file()


def test_a_class_has_its_name_for_itself() -> None:
    found: dict[str, list[str]] = {}
    for folder in ("workshop", "app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "templates" not in path.parts:
                tree = ast.parse(path.read_text())
                for name in (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
                    found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
