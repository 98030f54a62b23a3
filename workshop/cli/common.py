"""Parts that commands share: the options of a placement and of a site, printed answers, the choice of a session.

Also commands that are computed: those that extensions bring, and those whose options are a workload's params or groups
of options that several commands share.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from rich.console import Console

from workshop.core.documents import finite
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.extension import Params, help_of, load
from workshop.mpi.implementations import IMPLEMENTATIONS, read_placement
from workshop.registry import commands

if TYPE_CHECKING:
    from workshop.store.store import Store

Option = tuple[str, Any, Any]  # name, annotation, default


def as_options(params: type[Params]) -> list[Option]:
    """An option for each param, taken as text: the model checks it, so that every error reads the same."""
    parameters: list[Option] = []
    for name, field in params.model_fields.items():
        option = typer.Option(f"--{name.replace('_', '-')}", metavar="VALUE", help=help_of(name, field))
        parameters.append((name, Annotated[str | None, option], None))
    return parameters


def given_values(params: type[Params], options: dict[str, Any]) -> dict[str, Any]:
    """The params among a command's options, without the options that nobody gave."""
    values = {name: options.pop(name) for name in params.model_fields}
    return {name: value for name, value in values.items() if value is not None}


def with_options(command: Callable[..., Any], options: Sequence[Option]) -> Callable[..., Any]:
    """A command that takes keywords, with these options: typer reads them off its signature."""
    command.__signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, annotation, default in options
        ]
    )
    command.__annotations__ = {name: annotation for name, annotation, _ in options}
    return command


class Group(dict[str, Any]):
    """Options that several commands share: their annotations by name. All of them are optional."""

    def only(self, *names: str) -> Any:
        """The annotation of a parameter for these options, in this order; without names for all options."""
        return Annotated[Mapping[str, Any], Group({name: self[name] for name in names or self})]


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's group parameter by the group's options. The command gets the given values by name."""
    options: list[Option] = []
    groups: dict[str, Group] = {}
    parameters = inspect.signature(command, eval_str=True).parameters
    for name, parameter in parameters.items():
        if group := next((each for each in get_args(parameter.annotation) if isinstance(each, Group)), None):
            groups[name] = Group(
                {option: annotation for option, annotation in group.items() if option not in parameters}
            )
            options += [(option, annotation, None) for option, annotation in groups[name].items()]
        else:
            options.append((name, parameter.annotation, parameter.default))

    @functools.wraps(command)
    def called(**values: Any) -> Any:
        together = {name: {option: values.pop(option) for option in group} for name, group in groups.items()}
        return command(**values, **together)

    return with_options(called, options)


def add_commands(app: typer.Typer, group: str) -> None:
    """Add the commands of a group to its app; one that can't be loaded is named on standard error and left out."""
    for command in commands(group).values():
        try:
            function = load(command.function)
        except Exception as error:  # somebody else's package: whatever is wrong with it, ours must go on
            words = f"{group} {command.name}".strip()
            print(f"The command {words} ({command.function}) can't be loaded: {error}", file=sys.stderr)
            continue
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=command.name)
        else:
            app.command(command.name, **command.options)(function)


JSON = Annotated[bool, typer.Option("--json", help="Answer as one JSON document on standard output.")]
Gradebook = Annotated[
    Literal["moodle", "canvas", "csv"] | None,
    typer.Option(help="Write learner, score and maximum into a file in this folder, for this gradebook."),
]

Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="HOST:SLOTS,…", help="Hosts and their slots, or a file with them.")
]
# Where ranks run. Options are taken as text and checked by the models, so that every error reads the same.
PLACEMENT = Group(
    ranks=Annotated[str | None, typer.Option("--ranks", "-n", metavar="N", help="Number of MPI ranks.")],
    map_by=Annotated[
        str | None,
        typer.Option(
            metavar="RESOURCE",
            help="Deal ranks out over: auto, slot, hwthread, core, l3cache, numa, package, node; or "
            "ppr:1:package:pe=2.",
        ),
    ],
    per_resource=Annotated[str | None, typer.Option(metavar="N", help="Ranks on each such resource (Open MPI's ppr).")],
    cores_per_rank=Annotated[str | None, typer.Option(metavar="N", help="Cores that each rank owns (Open MPI's pe).")],
    bind_to=Annotated[
        str | None,
        typer.Option(metavar="RESOURCE", help="Bind ranks to: auto, none, hwthread, core, l3cache, numa, package."),
    ],
    threads=Annotated[str | None, typer.Option("--threads", metavar="N", help="Threads per rank.")],
    env=Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="A variable set on every rank; may be repeated."),
    ],
    hosts=Hosts,
    mpi=Annotated[str | None, typer.Option("--mpi", metavar="MPI", help=f"The MPI: {', '.join(IMPLEMENTATIONS)}.")],
    oversubscribe=Annotated[
        bool | None, typer.Option("--oversubscribe", help="Let ranks share slots and cores where there are too few.")
    ],
)
if TYPE_CHECKING:
    Where = dict[str, Any]
else:
    Where = PLACEMENT.only()
SessionName = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="The session to run in; default: the one that is up.")
]
Private = Annotated[bool, typer.Option("--private", help="Start a session for this command alone.")]

NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Refuse, instead of waiting, while somebody measures on this machine.")
]


def stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False)


def store() -> Store:
    """Open the store, which is imported only by commands that need it."""
    from workshop.store.store import Store

    return Store.open()


def answer(document: Any) -> None:
    """Print one JSON document on standard output. A value that diverged is null: JSON has no NaN and no infinity."""
    json.dump(finite(document), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()  # whoever reads a pipe should not have to wait for our end


def show_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], right: Collection[str] = (), **column: Any
) -> None:
    """Print a table; the columns of the headings `right` hold numbers."""
    from workshop.report import terminal

    Console(highlight=False).print(terminal.table(headings, rows, right, **column))


def listing(
    as_json: bool,
    document: Any,
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    right: Collection[str] = (),
    empty: str = "",
    **column: Any,
) -> None:
    """Answer with a document or a table; where the table has no rows, with the sentence `empty`, if there is one."""
    if as_json:
        answer(document)
    elif rows or not empty:
        show_table(headings, rows, right, **column)
    else:
        stderr().print(empty)


def write_artifacts(store: Any, run_id: int, folder: Path) -> list[Path]:
    """Write a run's files into a folder, which is made if it isn't there. Raises BadInput where it can't be."""
    writable(folder)
    written = []
    for artifact in store.artifacts(run_id):
        written.append(folder / artifact.name.replace("/", "-"))
        written[-1].write_bytes(store.artifact(run_id, artifact.name).data or b"")
    return written


def writable(folder: Path) -> None:
    """Make a folder for results. Raises BadInput where nobody can write."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"{folder} can't be written ({error.strerror}); give a folder of your own.") from error


def placement_from(
    base: Mapping[str, Any],
    *,
    map_by: str | None = None,
    env: list[str] | None = None,
    hosts: str | None = None,
    mpi: str | None = None,
    oversubscribe: bool | None = None,
    **fields: str | None,
) -> Placement:
    """A placement from options of `PLACEMENT` on top of another one; without either, the machine's default. Hosts that
    are named have as many ranks as slots, where nobody says how many. Raises BadInput."""
    options = {
        **fields,
        "hosts": None if hosts is None else read_hosts(hosts),
        "mpi": mpi,
        "oversubscribe": oversubscribe or None,
    }
    settings = {name: value for name, value in options.items() if value is not None}
    if map_by is not None:
        from workshop.mpi.reader.parsed_options import mapping_fields

        settings |= mapping_fields(map_by, f"--map-by {map_by}")
    if "hosts" in settings and "ranks" not in {**base, **settings}:
        settings["ranks"] = sum(host["slots"] for host in settings["hosts"])
    if not base and not settings:
        from workshop.sessions.launchers import site

        base = site.default_placement().as_json()
    values = {**base, **settings}
    if env:
        pairs = [word.partition("=") for word in env]
        for name, equals, _ in pairs:
            if not equals:
                raise BadInput(f"--env {name} has no value; write --env {name}=VALUE.")
        values["environment"] = {**values.get("environment", {}), **{name: value for name, _, value in pairs}}
    return read_placement(values)


def read_hosts(text: str) -> list[dict[str, Any]]:
    """Hosts from an option: `hostA:2,hostB:2`, or the name of a file with a host on each line. Raises BadInput."""
    file = Path(text)
    try:
        if "," not in text and file.is_file():
            text = file.read_text()
        elif "/" in text:
            raise BadInput(f"There is no file {text} with hosts; give one, or hosts like hostA:2,hostB:2.")
    except (OSError, UnicodeError, ValueError) as error:
        raise BadInput(f"The hosts file {text[:200]} can't be read ({error}).") from error
    return [host.model_dump() for host in hosts_from(text)]


def one_session(session: str | None, private: bool) -> None:
    """Refuse to run both in a session that is up and in one of its own. Raises BadInput."""
    if session and private:
        raise BadInput("--session and --private exclude each other; give one of them.")


_OF_SITES = {
    "partition": ("NAME", "Slurm's partition."),
    "account": ("NAME", "Slurm's account."),
    "qos": ("NAME", "Slurm's quality of service."),
    "reservation": ("NAME", "A reservation of Slurm's, such as a class's."),
    "constraint": ("FEATURES", "Features that Slurm's nodes must have."),
    "gpus": ("N", "GPUs, as salloc takes them."),
    "time": ("MINUTES", "How long Slurm gives the session."),
    "nodes": ("N", "Nodes of Slurm for the ranks."),
    "wait": ("MINUTES", "How long to wait in Slurm's queue."),
    "address": ("ADDRESS", "Of this host, by which other hosts and nodes reach it."),
}
Site = Group(
    slurm=Annotated[bool | None, typer.Option("--slurm", help="Run it in an allocation of Slurm.")],
    **{
        name: Annotated[str | None, typer.Option(metavar=metavar, help=text)]
        for name, (metavar, text) in _OF_SITES.items()
    },
).only()


def site_from(placement: Placement, *, slurm: bool | None = None, **options: str | None) -> Mapping[str, Any]:
    """The site that these options ask for; without options this machine, or the hosts of the placement. Raises BadInput
    for a site that can't take the placement, and for an option of another site."""
    from workshop.sessions.launchers import site

    where = site.usual(placement)
    kind = "slurm" if slurm else where["kind"]
    allowed = {"slurm": options.keys(), "hosts": {"address"}}.get(kind, set())
    own_options = {name: value for name, value in options.items() if value is not None}
    if lost := next((name for name in own_options if name not in allowed), None):
        if lost == "address":
            raise BadInput("--address is for a session on several hosts or Slurm; give --hosts or --slurm, too.")
        raise BadInput(f"--{lost} is for a session on Slurm; give --slurm, too.")
    if slurm or own_options:
        where = site.requested(kind, placement, own_options)
    site.check(where, placement)
    return where
