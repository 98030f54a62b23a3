"""The meaning of each option of a launcher for a placement."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from workshop.core.errors import BadInput
from workshop.mpi.words.parsed_options import read_binding, read_mapping

if TYPE_CHECKING:
    from workshop.mpi.words.options import OptionReader


def _ranks(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.ranks = reader.number(word, value)


def _per_host(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.per_host = reader.number(word, value)


def _per_node(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.per_node = reader.number(word, value)


def _one_each(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.per_host = 1


def _nodes(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.nodes = reader.number(word, value)


def _cores(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.cores_per_rank = reader.number(word, value)


def _slurm_cores(reader: OptionReader, word: str, value: str | None) -> None:
    count = reader.number(word, value)
    reader.options.processors = count


def _per_package(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.map_by, reader.options.per_resource = "package", reader.number(word, value)


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


def _oversubscribe(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.oversubscribe = True


def _exclusive(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.exclusive = True


def _hardware_threads(reader: OptionReader, word: str, value: str | None) -> None:
    reader.options.hardware_threads = reader.options.thread_slots = True


def _more(reader: OptionReader, word: str, value: str | None) -> None:
    """Options of mpirun inside an option of horovodrun."""
    try:
        words = shlex.split(reader.value(value))
    except ValueError:
        raise BadInput(f"{word.partition('=')[0]} has a quotation mark that is not closed.") from None
    inner = type(reader)(reader.options, words)
    inner.read()
    reader.options.unknown += words[inner.place :]


def _fixed(**values: str) -> Callable[[OptionReader, str, str | None], None]:
    def settle(reader: OptionReader, word: str, value_of_option: str | None) -> None:
        for name, value in values.items():
            setattr(reader.options, name, value)

    return settle


HANDLERS: dict[str, Callable[[OptionReader, str, str | None], None]] = {
    **dict.fromkeys(("n", "np", "c", "num-proc"), _ranks),
    **dict.fromkeys(("ppn", "perhost", "grr", "npernode", "N", "processes-per-node", "slots-per-host"), _per_host),
    **dict.fromkeys(("rr", "pernode"), _one_each),
    **dict.fromkeys(("H", "host", "hosts"), _hosts),
    **dict.fromkeys(("cpus-per-proc", "cpus-per-rank"), _cores),
    "npersocket": _per_package,
    "map-by": _map_by,
    "bind-to": _bind_to,
    "x": _variable,
    **dict.fromkeys(("genv", "env"), _pair),
    **dict.fromkeys(("genvlist", "envlist"), _names),
    **dict.fromkeys(("mca", "omca", "gmca"), _mca),
    "oversubscribe": _oversubscribe,
    "nooversubscribe": _exclusive,
    "use-hwthread-cpus": _hardware_threads,
    **dict.fromkeys(("binding-args", "mpi-args"), _more),
    "bynode": _fixed(map_by="node"),
    "byslot": _fixed(map_by="slot"),
    "bycore": _fixed(map_by="core"),
    "bysocket": _fixed(map_by="package"),
    "bind-to-core": _fixed(bind_to="core"),
    "bind-to-socket": _fixed(bind_to="package"),
    "bind-to-none": _fixed(bind_to="none"),
}
SLURM: dict[str, Callable[[OptionReader, str, str | None], None]] = {
    **dict.fromkeys(("n", "ntasks"), _ranks),
    **dict.fromkeys(("N", "nodes"), _nodes),
    "ntasks-per-node": _per_node,
    **dict.fromkeys(("c", "cpus-per-task"), _slurm_cores),
    **dict.fromkeys(("w", "nodelist"), _hosts),
}
