"""The text of a command line, taken apart: variables before it, the launcher, its words; or a script of Slurm."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workshop.core.errors import BadInput

OPENMPI = ("mpirun", "orterun", "prterun", "mpiexec")  # that Open MPI has; all have mpirun and mpiexec
LAUNCHERS = (
    *OPENMPI,
    *("mpiexec.hydra", "hydra_mpiexec", "mpiexec.mpich", "mpirun.mpich", "mpirun_rsh", "horovodrun", "srun"),
)
RIGHT = "it should be like `mpirun -n 4 --map-by core python train.py`"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.S)
# Slides and word processors make dashes, quotes and spaces of their own.
_TYPOGRAPHIC = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u200b": None, "\ufeff": None})
_DASH = re.compile(r"(?<!\S)[–—−](?=[A-Za-z-])")


@dataclass
class CommandLine:
    """A command, taken apart."""

    launcher: str  # its name without folders
    words: list[str]  # its options, and behind them the program
    environment: dict[str, str] = field(default_factory=dict)  # of variables before it
    slurm: list[str] = field(default_factory=list)  # options in a script's #SBATCH lines
    script: bool = False
    other: list[str] = field(default_factory=list)  # lines of a script that are none of these


def read_lines(text: str) -> CommandLine:
    """Find the command in a text. Raises BadInput."""
    plain = re.sub(r"\\[ \t]*\r?\n", " ", text.translate(_TYPOGRAPHIC))
    lines = [line.strip() for line in plain.splitlines()]
    script = any(line.startswith("#SBATCH") for line in lines)
    command_line: CommandLine | None = None
    slurm: list[str] = []
    exported: dict[str, str] = {}
    other: list[str] = []
    for line in lines:
        if line.startswith("#SBATCH"):
            slurm += split(line.removeprefix("#SBATCH"))
        if not line or line.startswith("#"):
            continue
        words = split(_DASH.sub(lambda dash: "-", line.removeprefix("$ ")))
        if words[:1] == ["export"] and len(words) > 1 and all(_VARIABLE.fullmatch(word) for word in words[1:]):
            exported |= _variables(words[1:])
            continue
        command = _command(words)
        if command is None or command_line is not None:
            other.append(line)
            continue
        command_line = command
    if command_line is None:
        first = next((line for line in lines if line and not line.startswith("#")), "")
        raise BadInput(
            f"The command begins with {_excerpt(first)}; {RIGHT}, with mpirun, mpiexec, mpirun_rsh, horovodrun or srun."
            if first
            else f"There is no command; {RIGHT}."
        )
    command_line.environment = exported | command_line.environment
    command_line.slurm, command_line.script, command_line.other = slurm, script, other
    return command_line


def split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        what = "a quotation mark is not closed" if "quotation" in str(error) else "it ends with a backslash"
        raise BadInput(f"The command line can't be read: {what} in {_excerpt(line)}.") from None


def _command(words: list[str]) -> CommandLine | None:
    """The command that a line is; None where it starts no ranks."""
    if words[:1] == ["env"]:
        words = words[1:]
    start = next((place for place, word in enumerate(words) if not _VARIABLE.fullmatch(word)), len(words))
    if start == len(words):
        return None
    name = PurePosixPath(words[start]).name
    if name not in LAUNCHERS:
        return None
    return CommandLine(name, words[start + 1 :], _variables(words[:start]))


def _variables(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    return {name: value for name, _, value in pairs}


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
