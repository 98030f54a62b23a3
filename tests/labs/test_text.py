"""Labs' texts: the commands that they tell learners to type are there."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from workshop.cli.main import app
from workshop.core import config
from workshop.registry import workloads
from workshop.report.failures import command, failures, failures_of

# The texts of a lab, and how many commands there are at least in one of them.
LEAST = {"README.md": 10, "runsheet.md": 3, "notebook.md": 1, "quiz.yaml": 0}
TEXTS = sorted(path for name in LEAST for path in config.labs_folder().glob(f"*/{name}"))
_MPIRUN = r"(?:\S*mpirun (?:-n \d+ |--bind-to \w+ |--map-by \S+ )*)?"
COMMAND = re.compile(
    rf"(?:^ {{4,}}|(?<!`)`)((?:[A-Z_]+=\S+ )?{_MPIRUN}(?:\.venv/bin/)?(?:workshop|python) [^`#\n]+)", re.MULTILINE
)


def commands(text: Path) -> list[list[str]]:
    """The commands of a text, from `workshop` or `python` on, where they are written out."""
    found = [
        [word.removeprefix(".venv/bin/") for word in shlex.split(match.strip())]
        for match in COMMAND.findall(text.read_text())
    ]
    starts = [next(at for at, word in enumerate(words) if word in ("workshop", "python")) for words in found]
    return [words[start:] for words, start in zip(found, starts, strict=True) if "…" not in words]


def options(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word.startswith("--")]


def unknown(words: list[str]) -> list[str]:
    """What of a command line of `workshop` isn't there; what follows `--` is another program's."""
    words = words[: words.index("--")] if "--" in words else words
    command: Any = typer.main.get_command(app)
    context = command.make_context("workshop", [], resilient_parsing=True)
    known: list[str] = []
    for word in words[1:]:
        if not hasattr(command, "get_command") or word.startswith("-"):
            break
        inner = command.get_command(context, word)
        if inner is None:
            return [word]
        command, context = inner, inner.make_context(word, [], resilient_parsing=True)
    for param in command.params:
        known += [*param.opts, *param.secondary_opts]
    if command.context_settings.get("ignore_unknown_options"):  # it takes the workload's own
        named = [workloads()[word] for word in words if word in workloads()] or workloads().values()
        known += [f"--{name.replace('_', '-')}" for one in named for name in one.params.model_fields]
    return [option for option in options(words) if option not in known]


def absent(words: list[str], root: Path) -> list[str]:
    """What a command names that isn't there: files of labs, decks, guided failures."""
    found = [word for word in words if word.startswith("labs/") and not (root / word).is_file()]
    if words[:3] == ["workshop", "quiz", "host"]:
        found += [deck for deck in words[3:4] if not (root / "labs" / deck / "quiz.yaml").is_file()]
    if "--failure" in words:
        name = words[words.index("--failure") + 1]
        found += [name] if name not in {one.name for one in failures(2)} else []
    return found


def arguments(script: Path) -> set[str]:
    """The options of a lab's script."""
    calls = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Call)]
    added = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"]
    return {call.args[0].value for call in added if call.args and isinstance(call.args[0], ast.Constant)}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.parent.name}-{text.stem}")
def test_what_a_text_tells_to_type_is_there(text: Path):
    root = text.parents[2]
    told = commands(text)
    assert len(told) >= LEAST[text.name]
    for words in told:
        assert absent(words, root) == [], " ".join(words)
        if words[0] == "workshop":
            assert unknown(words) == [], " ".join(words)
        elif words[1].startswith("labs/"):
            assert set(options(words)) <= arguments(root / words[1]), " ".join(words)


def test_the_federated_lab_leads_through_all_eleven_parts():
    folder = config.labs_folder() / "federated"
    text = (folder / "README.md").read_text()
    assert re.findall(r"^### ([a-z])\. ", text, re.MULTILINE) == list("abcdefghijk")
    for part in ("Predict", "Run", "See", "Explain"):
        assert text.count(f"- **{part}**:") == 11, part
    for study in (folder / "studies").glob("*.yaml"):
        assert f"workshop study run file labs/federated/studies/{study.name}" in text, study
    steps = re.findall(r"^# (\d+)\. ", (folder / "train.py").read_text(), re.MULTILINE)
    assert steps == [str(number) for number in range(1, 13)]
    told = re.findall(r"- \*\*Steps? (\d+)(?: and (\d+))?\*\*", text)
    assert {number for numbers in told for number in numbers if number} <= set(steps) and len(told) == 5


def test_the_federated_lab_tells_of_every_guided_failure():
    text = (config.labs_folder() / "federated" / "README.md").read_text()
    for one in failures_of("federated", "openfl"):
        assert one.title in text and one.verdict in " ".join(text.split()), one.name
        for which in ("broken", "fixed"):
            assert f"    {command(one, which)}\n" in text, one.name
