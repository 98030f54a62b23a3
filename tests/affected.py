"""Which test files a changed file can affect: by imports, direct and indirect, and by the folder that mirrors it."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
# Tests of what is no module of the package.
FOLDERS = {
    "app": ("tests/app/", "tests/browser/"),
    "labs": ("tests/labs/", "tests/course/"),
    "notebooks": ("tests/labs/", "tests/course/"),
}
# Pages of the dashboard, which the navigation finds by name: what their paths begin with.
PAGES = (
    "workshop/web/pages/",
    "workshop/web/placement_page/",
    "workshop/workloads/federated/page",
    "workshop/workloads/hangs/page",
    "workshop/workloads/parallel/page",
    "workshop/workloads/sgan/study/page",
)


@cache
def imports() -> grimp.ImportGraph:
    """Who imports whom in the package and its tests."""
    return grimp.build_graph("workshop", "benchmarks", "tests", cache_dir=None)


def changed_files() -> list[str]:
    """Files that differ from where this branch left the remote's main branch, new ones included, relative to the root.

    Without a remote these are the files that are not committed; outside a checkout there are none.
    """
    base = _git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    return sorted({*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    asked = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return asked.stdout.splitlines() if asked.returncode == 0 else []


def module_of(file: str) -> str:
    """The name of the module that a file is: `workshop/mpi/__init__.py` is `workshop.mpi`."""
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def affected(changed: Iterable[str], tests: Collection[str]) -> frozenset[str]:
    """Of the test files `tests`, those that any of the files `changed` can affect; paths are relative to the root."""
    graph = imports()
    found: set[str] = set()
    for file in changed:
        first, _, rest = file.partition("/")
        module = module_of(file)
        users = graph.find_downstream_modules(module) | {module} if module in graph.modules else {module}
        folders: tuple[str, ...] = FOLDERS.get(first, ())
        if first == "workshop" and "/" in rest:
            folders = (f"tests/{rest.rpartition('/')[0]}/", *(FOLDERS["app"] if file.startswith(PAGES) else ()))
        elif first == "tests" and not file.endswith(".py"):
            folders = (f"{file.rpartition('/')[0]}/",)
        elif file.endswith("/conftest.py"):
            folders = (file.removesuffix("conftest.py"),)
        found |= {test for test in tests if module_of(test) in users or (folders and test.startswith(folders))}
    return frozenset(found)


def tests_of_changes() -> frozenset[str]:
    """The test files that changed files can affect."""
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    changed = changed_files()
    return affected(changed, tests) if changed else frozenset()
