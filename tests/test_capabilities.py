"""The core knows no capability by name: whatever a workload needs stands in its own folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.affected import ROOT
from workshop.core.placement import USUAL_MPI
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.registry import workloads

OWN = "workshop/workloads/"  # folders of capabilities
DATA = "the images of handwritten digits are called like the workload"
EXAMPLE = "an example in a help text or in a sentence"
# Files of the core that may name a workload, each with its reason. This list may only shrink.
ALLOWED = {
    "workshop/cli/demo.py": EXAMPLE,
    "workshop/cli/study.py": EXAMPLE,
    "workshop/course/simulated_ranks.py": "an MPI call that is called like the workload",
    "workshop/engine/fields.py": DATA,
    "workshop/notebook/studies.py": EXAMPLE,
    "workshop/study/command.py": EXAMPLE,
    "workshop/study/grid/study_file.py": EXAMPLE,
    "workshop/cli/templates/workload/my_workload_workshop/labs/my-workload/mistakes.py": "an MPI call",
}


def core_files() -> list[str]:
    """All sources of the core, relative to the root."""
    found = (path for folder in ("workshop", "app") for path in (ROOT / folder).rglob("*.*"))
    files = (path.relative_to(ROOT).as_posix() for path in found if path.suffix in (".py", ".js", ".css"))
    return sorted(file for file in files if not file.startswith(OWN))


def told(path: Path) -> Iterator[str]:
    """What a source says to the machine: its imports and strings, without docstrings and comments."""
    if path.suffix != ".py":
        yield path.read_text()
        return
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            yield " ".join([node.module or "", *(alias.name for alias in node.names)])
        elif isinstance(node, ast.Import):
            yield " ".join(alias.name for alias in node.names)


def named(path: Path, names: Iterable[str] | None = None) -> set[str]:
    """The workloads that a source names, or those of other names."""
    words = re.compile(rf"\b({'|'.join(workloads() if names is None else names)})\b")
    return {word for text in told(path) for word in words.findall(text)}


def test_the_core_names_no_workload() -> None:
    found = {file: names for file in core_files() if (names := named(ROOT / file))}
    assert {file: names for file, names in found.items() if file not in ALLOWED} == {}
    assert sorted(set(ALLOWED) - set(found)) == [], "these name none any more: take them off the list"


def test_the_core_names_no_mpi() -> None:
    """Open MPI is another matter: the environment has it, and Horovod and this machine's own ranks need it."""
    others = [name for name in IMPLEMENTATIONS if name not in (USUAL_MPI, "system")]  # which is an ordinary word
    files = [file for file in core_files() if not file.startswith("workshop/mpi/")]
    assert {file for file in files if named(ROOT / file, others)} == set()
