"""The options of launchers: what each says of a placement. Words that say nothing that is known here are named."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable

from workshop.core.errors import BadInput
from workshop.mpi import mpirun_rsh
from workshop.mpi.reader.lines import CommandLine, split
from workshop.mpi.reader.parsed_options import ParsedOptions, read_binding, read_mapping

# Options that only one of the MPIs has, in its own spelling.
_OPENMPI_ONLY = {"x", "mca", "prtemca", "npernode", "N", "oversubscribe"}
_OPENMPI_ONLY |= {"report-bindings", "use-hwthread-cpus", "allow-run-as-root", "cpus-per-proc"}
_HYDRA_ONLY = {"genv", "env", "genvlist", "genvall", "ppn", "perhost", "hosts", "print-rank-map"}
_HYDRA_ONLY |= {"prepend-rank", "prepend-pattern", "l", "launcher", "bootstrap", "f"}

# What reports, forwards or allows and moves no rank.
_HARMLESS = {"report-bindings", "tag-output", "allow-run-as-root", "print-rank-map", "prepend-rank", "l", "v", "q"}
_HARMLESS |= {"genvall", "verbose", "timestamp-output", "mpi", "do-not-launch", "rsh", "ssh"}
_HARMLESS |= {"exclusive", "overcommit", "O"}  # of Slurm: what a job is given
_SLURM_VALUES = {"mpi", "q", "export"}  # which have a value in Slurm's words
MOST = 1 << 20  # of any number, such as ranks
# Options with one value (or two) that say nothing of a placement; they are named together with it.
_ONE_VALUE = {"hostfile", "machinefile", "f", "rankfile", "rf", "rank-by", "cpu-set", "wdir", "prefix", "timeout"}
_ONE_VALUE |= {"launcher", "bootstrap", "iface", "configfile", "prepend-pattern", "p", "output-filename"}
_ONE_VALUE |= {"job-name", "J", "partition", "account", "A", "time", "t", "qos", "mem", "constraint", "distribution"}
_ONE_VALUE |= {"m", "o", "e", "output", "error", "gres", "exclude", "chdir", "D", "hint", "genvlist"}
_QUIET = {"display", "output"}  # of mpirun: reports
_JOINED = re.compile(r"(-[nNc])(\d+)")  # Slurm's -n4
_TWO_VALUES = {"prtemca", "pmixmca"}


def read_options(line: CommandLine) -> ParsedOptions:
    """Read the launcher's options up to the program. Raises BadInput for values that can't be meant."""
    tool = "sbatch" if line.script else ""
    options = ParsedOptions(line.launcher, tool, before=dict(line.environment), unknown=list(line.other))
    if line.slurm:
        OptionReader(options, line.slurm, slurm=True).read()
    reader = OptionReader(options, line.words, slurm=line.launcher == "srun")
    reader.read()
    if line.launcher == mpirun_rsh.LAUNCHER:
        reader.hosts_and_variables()
    return options


class OptionReader:
    """Goes through the words of a command; each known option takes its values from here."""

    def __init__(self, options: ParsedOptions, words: list[str], slurm: bool = False) -> None:
        self.options, self.words, self.place, self.slurm = options, words, 0, slurm

    def read(self) -> None:
        while self.place < len(self.words) and self.words[self.place].startswith("-"):
            word = self.words[self.place]
            self.place += 1
            if word == "--":
                break
            self.option(word)
        rest = self.words[self.place :]
        if ":" in rest and not self.slurm:
            self.options.unknown.append(" ".join(rest[rest.index(":") :]))  # a second program

    def hosts_and_variables(self) -> None:
        """Read what mpirun_rsh has behind its options: a host for each rank unless a file has them, then variables."""
        if not any("hostfile" in words for words in self.options.unknown):
            last = self.place + (self.options.ranks or 0)
            hosts = itertools.takewhile(lambda word: "=" not in word, self.words[self.place : last])
            self.options.hosts = list(hosts)
            self.place += len(self.options.hosts)
        while self.place < len(self.words) and "=" in self.words[self.place]:
            name, _, value = self.words[self.place].partition("=")
            self.options.environment[name] = value
            self.place += 1

    def option(self, word: str) -> None:
        if self.slurm and (joined := _JOINED.fullmatch(word)):
            word = f"{joined[1]}={joined[2]}"
        name, equals, text = word.partition("=")
        key = name.lstrip("-")
        if key not in ("H", "N", "J", "A", "D", "O"):
            key = key.lower().replace("_", "-")
        value = text if equals else None
        if not self.slurm:
            self.options.openmpi += key in _OPENMPI_ONLY
            self.options.hydra += key in _HYDRA_ONLY
        if key in ("bind-to", "map-by"):  # which both have; Hydra writes its options with one dash
            old = not word.startswith("--") and self.options.launcher.startswith("mpiexec")
            self.options.hydra += old and "ppr:" not in word
        handler = (SLURM if self.slurm else HANDLERS).get(key)
        if handler is not None:
            handler(self, word, value)
        elif self.slurm and key in _SLURM_VALUES:
            argument = self.value(value)
            if key == "export" and argument not in ("ALL", "NONE"):
                self.name(f"--export={argument}")
        elif key in _HARMLESS:
            return
        elif key in _QUIET and not self.slurm:
            self.value(value)
        elif key in _ONE_VALUE:
            argument = self.value(value)
            self.name(word if equals else f"{word} {shlex.quote(argument)}")
        elif key in _TWO_VALUES:
            self.name(" ".join([word, self.value(value), self.value(None)]))
        else:
            self.name(word + self.stray(equals))

    def stray(self, equals: str) -> str:
        """The value of an option that isn't known, if what follows looks like one: behind it options go on."""
        value, *further = self.words[self.place : self.place + 2] or [""]
        if equals or value.startswith("-") or not (further and further[0].startswith("-")):
            return ""
        self.place += 1
        return f" {value}"

    def name(self, words: str) -> None:
        self.options.unknown.append(words)

    def value(self, text: str | None) -> str:
        if text is not None:
            return text
        if self.place >= len(self.words):
            raise BadInput(f"{self.words[-1]} is the last word, but it needs a value.")
        self.place += 1
        return self.words[self.place - 1]

    def number(self, word: str, text: str | None) -> int:
        digits = self.value(text)
        if not (digits.isascii() and digits.isdigit() and len(digits) < 8 and 1 <= int(digits) <= MOST):
            name = word.partition("=")[0]
            raise BadInput(f"{name} is {digits[:20]!r}; it should be a whole number from 1 to {MOST:,}.")
        return int(digits)


# Takes the option as it was written, and its value.
Handler = Callable[["OptionReader", str, str | None], None]
_CPU_BINDINGS = {
    **dict.fromkeys(("no", "none"), "none"),
    **{"threads": "hwthread", "cores": "core", "sockets": "package", "ldoms": "numa"},
}


def _hosts(reader: OptionReader, word: str, value: str | None) -> None:
    names = reader.value(value)
    # Slides have blanks behind the commas.
    while names.endswith(",") and reader.place < len(reader.words) and not reader.words[reader.place].startswith("-"):
        names += reader.value(None)
    reader.options.hosts += [name for name in names.split(",") if name]


def _map_by(reader: OptionReader, word: str, text: str | None) -> None:
    value = reader.value(text)
    read_mapping(reader.options, value, f"{word.partition('=')[0]} {value}")


def _bind_to(reader: OptionReader, word: str, text: str | None) -> None:
    value = reader.value(text)
    read_binding(reader.options, value, f"{word.partition('=')[0]} {value}")


def _variable(reader: OptionReader, word: str, text: str | None) -> None:
    """Open MPI's -x, which takes a name or a name with a value."""
    name, equals, value = reader.value(text).partition("=")
    if equals:
        reader.options.environment[name] = value
    else:
        reader.options.names.append(name)


def _pair(reader: OptionReader, word: str, text: str | None) -> None:
    """Hydra's -genv NAME VALUE; Intel MPI takes NAME=VALUE, too."""
    name, equals, value = reader.value(text).partition("=")
    reader.options.environment[name] = value if equals else reader.value(None)


def _mca(reader: OptionReader, word: str, text: str | None) -> None:
    """A parameter of Open MPI; as a variable it means the same."""
    name = reader.value(text)
    value = reader.value(None)
    if (name, value) != ("mpi_yield_when_idle", "1"):  # which is always on here
        reader.options.environment[f"OMPI_MCA_{name}"] = value


def _cpu_bind(reader: OptionReader, word: str, text: str | None) -> None:
    """Slurm's --cpu-bind, as far as a placement can keep it: `cores`, `verbose,none`."""
    value = reader.value(text)
    kind = re.sub(r"^(quiet|q|verbose|v)(,|$)", "", value.lower())
    if kind in _CPU_BINDINGS:
        reader.options.bind_to = _CPU_BINDINGS[kind]
    elif kind:
        reader.name(f"--cpu-bind={value}")


def _more(reader: OptionReader, word: str, value: str | None) -> None:
    """Options of mpirun inside an option of horovodrun."""
    words = split(reader.value(value))
    inner = type(reader)(reader.options, words)
    inner.read()
    reader.options.unknown += words[inner.place :]


def _oversubscribe(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.oversubscribe = True


def _number(name: str) -> Handler:
    """An option whose number is the field `name`."""

    def settle(reader: OptionReader, word: str, value: str | None) -> None:
        setattr(reader.options, name, reader.number(word, value))

    return settle


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("n", "np"), _number("ranks")),
    **dict.fromkeys(("ppn", "perhost", "npernode", "N"), _number("per_host")),
    **dict.fromkeys(("H", "host", "hosts"), _hosts),
    "cpus-per-proc": _number("cores_per_rank"),
    "map-by": _map_by,
    "bind-to": _bind_to,
    "x": _variable,
    **dict.fromkeys(("genv", "env"), _pair),
    "mca": _mca,
    "oversubscribe": _oversubscribe,
    **dict.fromkeys(("binding-args", "mpi-args"), _more),
}
SLURM: dict[str, Handler] = {
    **dict.fromkeys(("n", "ntasks"), _number("ranks")),
    **dict.fromkeys(("N", "nodes"), _number("nodes")),
    "ntasks-per-node": _number("per_node"),
    **dict.fromkeys(("c", "cpus-per-task"), _number("processors")),
    **dict.fromkeys(("w", "nodelist"), _hosts),
    "cpu-bind": _cpu_bind,
}
