"""Say where ranks would run, on this machine or one that isn't there, and the commands that put them there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement, default_for, hosts_from
from workshop.mpi.implementations import read_placement

if TYPE_CHECKING:
    from workshop.core.machines import MachineDescription
    from workshop.extension import Side
    from workshop.mpi.mapper import Prediction

# The two-socket example of the workshop: a rank of two cores on each package of three hosts.
EXAMPLE_MACHINE = "2x4x2"
EXAMPLE = Placement(
    ranks=6, hosts=hosts_from("hostA:2,hostB:2,hostC:2"), map_by="package", per_resource=1, cores_per_rank=2
)
Machine = Annotated[
    str | None,
    typer.Option(
        metavar="MACHINE",
        help="this; packages x cores of each [x hardware threads of each core], like 2x4x2 or 2x8,numa=2,l3=2; a file "
        "of lstopo's XML.",
    ),
]
Command = Annotated[
    str | None, typer.Option(metavar="WORDS", help="An mpirun command to read the placement from; - is standard input.")
]
Failing = Annotated[
    str | None, typer.Option("--failure", metavar="NAME", help="A placement that goes wrong; `list` names all.")
]


@common.grouped
def place(
    machine: Machine = None,
    *,
    where: common.Where,
    command: Command = None,
    failing: Failing = None,
    as_json: common.JSON = False,
) -> int:
    """Say where ranks would run, and which commands put them there. The MPI's own mapper is asked; your program is not
    started.

    Without any option: six ranks on three invented hosts of two sockets. With a machine alone: what it gets where
    nobody asks for anything. Exit 1 where the MPI refuses.
    """
    from workshop.core import machines
    from workshop.mpi import mapper

    hosts = where["hosts"]
    named = {name for name, value in where.items() if value not in (None, [])}
    if failing is not None and (named - {"hosts"} or command is not None):
        raise BadInput("--failure is a placement of its own; beside it stand --machine and --hosts alone.")
    example = machine is None and not named and command is None and failing is None
    described = machines.read(_machine(machine) if machine is not None else EXAMPLE_MACHINE if example else "this")
    if failing is not None:
        return _failure(failing, described, None if hosts is None else common.read_hosts(hosts), as_json)
    unknown: tuple[str, ...] = ()
    if example:
        placement = EXAMPLE
    elif command is None:
        placement = common.placement_from({}, **where) if named else default_for(described.cores)
    else:
        placement, unknown = _read(command, where if named else None, described)
    prediction = mapper.predict(placement, described, unknown=unknown)
    document = _document(placement, described, prediction) | {"unknown": list(unknown)}
    if as_json:
        common.answer(document)
    else:
        from workshop.mpi.command_lines import titles

        names = titles()
        commands = {names[tool]: text for tool, text in document["commands"].items()}
        _show(placement, described, prediction, commands, unknown)
    return 1 if prediction.refused else 0


def _machine(text: str) -> str:
    """The description of a machine from an option: its own words, or the text of the file that it names. Raises
    BadInput."""
    file = Path(text)
    try:
        return file.read_text() if file.suffix == ".xml" or file.is_file() else text
    except (OSError, ValueError) as error:
        raise BadInput(f"{text[:200]} can't be read ({error}); give what lstopo writes as XML.") from None


def _read(
    command: str, where: Mapping[str, Any] | None, described: MachineDescription
) -> tuple[Placement, tuple[str, ...]]:
    """The placement of a command line, with the options that were given beside it on top. Raises BadInput."""
    from workshop.mpi import reader

    text = typer.get_text_stream("stdin").read() if command == "-" else command
    mpi = (where or {}).get("mpi")  # whose defaults fill in what the command leaves open
    parsed = reader.parse(text, read_placement({"mpi": mpi}) if mpi else None, described)
    if where is None:
        return parsed.placement, parsed.unknown
    return common.placement_from(parsed.placement.as_json(), **where), parsed.unknown


def _document(placement: Placement, described: MachineDescription, prediction: Prediction) -> dict[str, Any]:
    from workshop.mpi import command_lines
    from workshop.mpi.reports import openmpi_bindings

    ranks = (prediction.rank_map or {}).get("ranks") or []
    columns = ("rank", "host", "local_rank", "packages", "numa", "cores", "units")
    return {
        "machine": described.name,
        "placement": placement.as_json(),
        "predicted": [{name: report[name] for name in columns} for report in ranks],
        "masks": [openmpi_bindings.mask(report, prediction.machine) for report in ranks],
        "refused": prediction.refused,
        "own_words": prediction.own_words,
        "advice": prediction.advice,
        "note": prediction.note,
        "warning": prediction.warning,
        "commands": command_lines.commands(placement, described, prediction),
    }


def _show(
    placement: Placement,
    described: MachineDescription,
    prediction: Prediction,
    commands: Mapping[str, str],
    unknown: tuple[str, ...] = (),
) -> None:
    from rich.console import Console

    from workshop.report import terminal
    from workshop.report.machine_picture import MOST_RANKS, placement_cards

    out = Console(highlight=False)
    cards = placement_cards(
        placement, described.name, prediction, commands, unknown=unknown, widest=max(out.width - 44, 0)
    )
    terminal.show(out, cards, MOST_RANKS)


def _failure(name: str, described: MachineDescription, hosts: list[dict[str, Any]] | None, as_json: bool) -> int:
    """One guided failure, or the list of their names. Its prediction shows the mistake on purpose."""
    from workshop import mpi
    from workshop.mpi import mapper
    from workshop.report import failures

    session_hosts = [Host(**host) for host in hosts or []]
    mpis = mpi.installed()
    if name == "list":
        every = failures.failures(described.cores, session_hosts, mpis)
        if as_json:
            common.answer([example.as_json() for example in every])
        else:
            rows = [(example.name, example.title, example.shows) for example in every]
            common.show_table(("failure", "what it is", "what it shows"), rows, overflow="fold")
            print("\n`workshop place --failure NAME` shows one, with the commands that run it.")
        return 0
    chosen = failures.failure(name, described.cores, session_hosts, mpis)
    titles: dict[Side, str] = {"broken": "What goes wrong", "fixed": "What mends it"}
    placements = {side: placement for side, placement in chosen.placements().items() if placement is not None}
    predictions = {side: mapper.predict(placement, described) for side, placement in placements.items()}
    runs = {side: failures.command(chosen, side) for side in placements}
    if as_json:
        maps = {
            f"{side}_map": _document(placement, described, predictions[side]) for side, placement in placements.items()
        }
        common.answer(chosen.as_json() | {"runs": runs, **maps})
        return 0
    print(f"{chosen.title}\n{chosen.shows}")
    for side, placement in placements.items():
        print(f"\n{titles[side]}")
        _show(placement, described, predictions[side], {"Try it": runs[side]})
    print(f"\nLook for: {chosen.look_for}")
    if chosen.verdict:
        print(f"Its verdict: {chosen.verdict}")
    if chosen.needs_hosts:
        print("It needs a session over several hosts (workshop session start --hosts …).")
    return 0
