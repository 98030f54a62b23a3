"""The package that Python imports under a name: `workshop doctor --explain tensorflow`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workshop.core import words
from workshop.core.environment import own_environment
from workshop.core.errors import BadInput
from workshop.extension import Check

IMPORT_SECONDS = 120.0  # TensorFlow takes 3 to 30 s, as the disk is
LIBRARIES = 40  # native libraries that are looked at, the largest first
# Imports a package by its name and prints a document: its version, the seconds, and what it says of its build.
IMPORT = """
import importlib, json, sys, time
began = time.perf_counter()
package = importlib.import_module(sys.argv[1])
about = {"seconds": time.perf_counter() - began, "version": str(getattr(package, "__version__", ""))}
if sys.argv[1] == "tensorflow":
    about["build"] = dict(package.sysconfig.get_build_info())
    about["flags"] = package.sysconfig.get_compile_flags()
print(json.dumps(about, default=str))
"""


def explain(name: str, path: Sequence[str] = sys.path) -> list[Check]:
    """The package that Python imports under `name`: the distributions that bring it, its place, the libraries that it
    links, and a trial. `path` are the folders in which a script would look, after its own folder. Raises BadInput for a
    name that is no package's."""
    if not name.isidentifier():
        raise BadInput(f"{name!r} is no name that Python can import; it should be one such as tensorflow.")
    distributions = sorted(set(metadata.packages_distributions().get(name, [])))
    try:
        spec = find_spec(name)
    except ValueError:  # of __main__, and of modules that a program has made
        spec = None
    if spec is None:
        fix = f"Install the distribution that brings it into this environment, {sys.prefix}."
        return [Check(name, False, f"Python {sys.version.split()[0]} finds no package of this name", fix)]
    folder = Path(next(iter(spec.submodule_search_locations or []), spec.origin or ""))
    return [_distributions(name, distributions), _place(name, folder, path), _libraries(folder), _trial(name)]


def _distributions(name: str, distributions: Sequence[str]) -> Check:
    """Two distributions that bring the same package overwrite each other's files."""
    versions = [f"{distribution} {metadata.version(distribution)}" for distribution in distributions]
    fix = ""
    if len(versions) > 1:
        fix = (
            f"Keep one: uninstall all of them (pip uninstall {' '.join(distributions)}), then install the one you want."
        )
    return Check("Distribution", not fix, words.listed(versions) or "none: it is no installed package", fix)


def _place(name: str, folder: Path, path: Sequence[str]) -> Check:
    """A script's own folder comes first, so that a file of the package's name there hides the package."""
    hiding = [
        candidate
        for parent in dict.fromkeys([Path.cwd(), *map(Path, filter(None, path))])
        for candidate in (parent / f"{name}.py", parent / name / "__init__.py")
        if candidate.is_file() and folder not in (candidate, candidate.parent)
    ]
    fix = f"Rename {hiding[0]}: a script beside it imports it in place of the package." if hiding else ""
    return Check("Place", not fix, str(folder), fix)


def _libraries(folder: Path) -> Check:
    """The libraries that `ldd` does not find."""
    files = [*folder.rglob("*.so"), *folder.rglob("*.so.*")] if folder.is_dir() else []
    files = [folder] if folder.suffix == ".so" else files
    largest = sorted(files, key=lambda file: -file.stat().st_size)[:LIBRARIES]
    missing: dict[str, str] = {}
    for file in largest if shutil.which("ldd") else []:
        linked = subprocess.run(["ldd", file], capture_output=True, text=True, errors="replace", check=False)
        for line in linked.stdout.splitlines():
            if line.endswith("not found"):
                missing.setdefault(line.split()[0], file.name)
    detail = f"all that {words.count(len(largest), 'native file')} link are there"
    if not missing:
        return Check("Libraries", True, detail if largest else "none: it is Python alone")
    first, user = next(iter(missing.items()))
    fix = "Install them, or put their folder into LD_LIBRARY_PATH; the trial says whether they are needed."
    return Check("Libraries", False, f"{words.listed(missing)} not found; {user} links {first}", fix, needed=False)


def _trial(name: str) -> Check:
    command = [sys.executable, "-P", "-c", IMPORT, name]
    variables = own_environment() | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=IMPORT_SECONDS,
            env=variables,
            check=False,
        )
    except subprocess.TimeoutExpired:
        fix = "See what else keeps the machine or its disk busy, then try again."
        return Check("Import", False, f"it was not imported within {IMPORT_SECONDS:.0f} s", fix)
    if ended.returncode != 0:
        last = (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
        return Check("Import", False, last, "Mend what this error names, or install the package again.")
    try:
        return Check("Import", True, _about(json.loads(ended.stdout.splitlines()[-1])))
    except (IndexError, ValueError):
        return Check("Import", False, "it ends the program that imports it", "Look at the package's own first lines.")


def _about(about: dict[str, Any]) -> str:
    parts = [
        f"version {about['version']}" if about["version"] else "no version",
        f"in {words.seconds(about['seconds'])}",
    ]
    if build := about.get("build"):
        parts.append("built for CUDA" if build.get("is_cuda_build") else "built for CPUs")
        parts += [flag for flag in about["flags"] if "ABI" in flag]
    return ", ".join(parts)
