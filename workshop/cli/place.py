"""Say where ranks would run, on this machine or one that isn't there, and the commands that put them there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop import registry
from workshop.cli import common, params
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement, default_for, hosts_from
from workshop.report.command_line import options_of

if TYPE_CHECKING:
    from workshop.core.machines import MachineDescription
    from workshop.mpi.mapper import Prediction
    from workshop.report.failures import Failure

# The two-socket example of the workshop: a rank of two cores on each package of three hosts.
EXAMPLE_MACHINE = "2x4x2"
EXAMPLE = Placement(
    ranks=6, hosts=hosts_from("hostA:2,hostB:2,hostC:2"), map_by="package", per_resource=1, cores_per_rank=2
)
Machine = Annotated[
    str | None,
    typer.Option(
        metavar="MACHINE", help="this; SOCKETSxCORES[xTHREADS], like 2x4x2 or 2x8,numa=2,l3=2; a file of lstopo's XML."
    ),
]
Command = Annotated[
    str | None, typer.Option(metavar="WORDS", help="An mpirun command to read the placement from; - is standard input.")
]
Failing = Annotated[
    str | None, typer.Option("--failure", metavar="NAME", help="A placement that goes wrong; `list` names all.")
]

Where = common.PLACEMENT.only(
    *("hosts", "ranks", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "threads", "env", "mpi")
)


@params.grouped
def place(
    machine: Machine = None,
    *,
    where: Where,
    command: Command = None,
    failing: Failing = None,
    as_json: common.JSON = False,
) -> int:
    """Say where ranks would run, by the MPI's own mapper, and which commands put them there. Your program is not
    started.

    Without any option: six ranks on three invented hosts of two sockets. With a machine alone: what it gets where
    nobody asks for anything. Exit 1 where the MPI refuses.
    """
    from workshop.cli import show_place
    from workshop.core import machines
    from workshop.mpi import mapper

    hosts = where["hosts"]
    asked = any(value not in (None, []) for value in where.values())
    beside = [name for name, value in where.items() if name != "hosts" and value not in (None, [])]
    if failing is not None and (beside or command is not None):
        more = ", ".join(
            f"--{name.replace('_', '-')}" for name in [*beside, *(["command"] if command is not None else [])]
        )
        raise BadInput(f"--failure is a placement of its own; beside it stand --machine and --hosts, not {more}.")
    example = machine is None and not asked and command is None and failing is None
    described = machines.read(_machine(machine) if machine is not None else EXAMPLE_MACHINE if example else "this")
    if failing is not None:
        return _failure(failing, described, None if hosts is None else common.read_hosts(hosts), as_json)
    unknown: tuple[str, ...] = ()
    if example:
        placement = EXAMPLE
    elif command is None:
        placement = common.placement_from({}, **where) if asked else default_for(described.cores)
    else:
        placement, unknown = _read(command, where if asked else None, described)
    prediction = mapper.predict(placement, described)
    document = _document(placement, described, prediction) | {"unknown": list(unknown)}
    if as_json:
        common.answer(document)
    else:
        show_place.show(document, described)
    return 1 if prediction.refused else 0


def _machine(text: str) -> str:
    """What an option says of a machine: its own words, or the text of the file that it names. Raises BadInput."""
    file = Path(text)
    try:
        if file.suffix == ".xml" or file.is_file():
            from workshop.core.machines import LARGEST_FILE

            with file.open("rb") as opened:
                return opened.read(LARGEST_FILE + 1).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text; it should be what lstopo writes as XML.") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{text[:200]} can't be read ({getattr(error, 'strerror', None) or error}).") from None
    return text


def _read(
    command: str, where: Mapping[str, Any] | None, described: MachineDescription
) -> tuple[Placement, tuple[str, ...]]:
    """The placement of a command line, with the options that were given beside it on top. Raises BadInput."""
    from workshop.mpi import words

    text = typer.get_text_stream("stdin").read() if command == "-" else command
    mpi = (where or {}).get("mpi")  # whose defaults fill in what the command leaves open
    parsed = words.parse(text, registry.placement({"mpi": mpi}) if mpi else None, described)
    if where is None:
        return parsed.placement, parsed.unknown
    return common.placement_from(parsed.placement.as_json(), **where), parsed.unknown


def _document(placement: Placement, described: MachineDescription, prediction: Prediction) -> dict[str, Any]:
    from workshop.mpi import command_lines
    from workshop.mpi.reports import masks

    ranks = (prediction.rank_map or {}).get("ranks") or []
    shown = ("rank", "host", "local_rank", "packages", "numa", "cores", "units")
    return {
        "machine": described.name,
        "placement": placement.as_json(),
        "predicted": [{name: report[name] for name in shown} for report in ranks],
        "masks": [masks.mask(report, prediction.machine) for report in ranks],
        "refused": prediction.refused,
        "own_words": prediction.own_words,
        "advice": prediction.advice,
        "note": prediction.note,
        "commands": command_lines.commands(placement, described),
    }


def _failure(name: str, described: MachineDescription, hosts: list[dict[str, Any]] | None, as_json: bool) -> int:
    """One guided failure, or the list of their names. Its prediction shows the mistake on purpose."""
    from workshop.cli import show_place
    from workshop.mpi import inventory, mapper
    from workshop.report import failures

    known = [Host(**host) for host in hosts or []]
    mpis = inventory.installed()
    if name == "list":
        every = failures.failures(described.cores, known, mpis)
        if as_json:
            common.answer([one.as_json() for one in every])
        else:
            show_place.show_list(every)
        return 0
    chosen = failures.failure(name, described.cores, known, mpis)
    parts = {
        which: _document(placement, described, mapper.predict(placement, described))
        for which, placement in (("broken", chosen.broken), ("fixed", chosen.fixed))
    }
    runs = {which: _run_command(chosen, getattr(chosen, which)) for which in parts}
    if as_json:
        common.answer(chosen.as_json() | {"runs": runs, **{f"{which}_map": part for which, part in parts.items()}})
        return 0
    show_place.show_failure(chosen, parts, runs, described)
    return 0


def _run_command(chosen: Failure, placement: Placement) -> str:
    """The `workshop run` that tries a placement; in a session over its hosts where it names some."""
    params = [word for name, value in chosen.params.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    hosts = ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)
    where = ["--hosts", hosts] if hosts else []
    return shlex.join(["workshop", "run", chosen.workload, *params, *options_of(placement), *where])
