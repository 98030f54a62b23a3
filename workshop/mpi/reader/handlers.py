"""The meaning of each option of a launcher for a placement."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from workshop.core.errors import BadInput
from workshop.mpi.reader.parsed_options import read_binding, read_mapping

if TYPE_CHECKING:
    from workshop.mpi.reader.options import OptionReader

    pass


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


def _names(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.names += [name for name in reader.value(value).split(",") if name]


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


def _hint(reader: OptionReader, word: str, text: str | None) -> None:
    """Slurm's --hint: with `nomultithread`, ranks use one hardware thread of each core."""
    value = reader.value(text)
    if value == "nomultithread":
        reader.options.one_thread = True
    elif value != "multithread":
        reader.name(f"--hint={value}")


def _more(reader: OptionReader, word: str, value: str | None) -> None:
    """Options of mpirun inside an option of horovodrun."""
    try:
        words = shlex.split(reader.value(value))
    except ValueError:
        raise BadInput(f"{word.partition('=')[0]} has a quotation mark that is not closed.") from None
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
    "genvlist": _names,
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
    "hint": _hint,
}
