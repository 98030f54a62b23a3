"""Placement: what should run where. Frozen and validated; each MPI turns it into its own command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from workshop.core.errors import BadInput, bad_input
from workshop.core.words import count

USUAL_MPI = "openmpi"  # where nobody names another one; the registry knows which MPIs there are
Resource = Literal["auto", "slot", "hwthread", "core", "l3cache", "numa", "package", "node"]
Binding = Literal["auto", "none", "hwthread", "core", "l3cache", "numa", "package"]

# Variables by which numerical libraries take their number of threads.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
# By which Open MPI's ranks are told to poll (0) or to yield (1) while they wait.
POLLING = "OMPI_MCA_mpi_yield_when_idle"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_POSITIVE = re.compile(r"0*[1-9][0-9]{0,3}")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"  # RFC 1123, section 2.1
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")


class Host(BaseModel):
    """A host and how many ranks it takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    slots: int = Field(1, ge=1, le=1024)

    @field_validator("name")
    @classmethod
    def _is_a_host_name(cls, name: str) -> str:
        if not _HOST.fullmatch(name):
            raise ValueError(f"{name!r} is not a host name")
        return name


MOST_BY_DEFAULT = 4  # ranks


class Placement(BaseModel):
    """The placement of ranks on cores and hosts.

    With `auto`, each rank gets a core of its own where there are enough; otherwise ranks stay unbound. Ranks that ask
    for several cores each get them. All other values go to the MPI as they are, which may refuse them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mpi: str = Field(USUAL_MPI, description="which MPI starts the ranks")
    ranks: int = Field(2, ge=1, le=1024, description="number of MPI ranks")
    hosts: tuple[Host, ...] = Field((), description="hosts and their slots; empty: this machine")
    map_by: Resource = Field("auto", description="deal ranks out over this resource, one after the other")
    per_resource: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="ranks on each such resource (Open MPI's ppr); empty: one at a time"
    )
    cores_per_rank: int = Field(1, ge=1, le=1024, description="cores that each rank owns (Open MPI's pe)")
    bind_to: Binding = Field("auto", description="what a rank may not leave")
    oversubscribe: bool = Field(
        False, description="let ranks share slots and cores where there are fewer than they ask for"
    )
    threads: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="threads per rank; empty: as many as cores per rank"
    )
    environment: dict[str, str] = Field(default_factory=dict, description="variables set on every rank")

    @field_validator("environment")
    @classmethod
    def _are_variables(cls, environment: dict[str, str]) -> dict[str, str]:
        for name, value in environment.items():
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a variable")
            if "\0" in value or "\n" in value:
                raise ValueError(f"{name} has a value of more than one line")
        return dict(sorted(environment.items()))

    @model_validator(mode="after")
    def _fits_together(self) -> Placement:
        if self.per_resource is not None and self.map_by in ("auto", "slot"):
            raise ValueError(
                f"per_resource is {self.per_resource}, but of which resource? map_by should be one of hwthread, "
                "core, l3cache, numa, package, node"
            )
        names = [host.name for host in self.hosts]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"host {twice} is named twice; give it all its slots at once")
        slots = sum(host.slots for host in self.hosts)
        if self.hosts and self.ranks > slots and not self.oversubscribe:
            raise ValueError(f"ranks is {self.ranks}, but the hosts have {slots} slots together")
        return self

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Placement:
        """Read a placement. Raises BadInput with one sentence."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise bad_input(error) from error

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @property
    def threads_per_rank(self) -> int:
        return self.threads or self.cores_per_rank

    def scarce(self, cores: int) -> bool:
        """Whether ranks of this machine, which has so many cores, can't have the cores that they ask for."""
        return not self.hosts and self.ranks * self.cores_per_rank > cores

    def binding(self, cores: int) -> Binding:
        """The binding of ranks, with the meaning of `auto` on a machine of so many cores."""
        if self.bind_to != "auto":
            return self.bind_to
        if self.scarce(cores) and self.per_resource is None and self.cores_per_rank == 1:
            return "none"
        return "hwthread" if self.map_by == "hwthread" else "core"

    def rank_environment(self) -> dict[str, str]:
        """The variables of every rank. Variables that the user named replace the threads' variables."""
        return dict.fromkeys(THREAD_VARIABLES, str(self.threads_per_rank)) | self.environment

    def describe(self) -> str:
        """A few words for a queue or a table: `2 ranks × 1 thread, by core`."""
        parts = [f"{count(self.ranks, 'rank')} × {count(self.threads_per_rank, 'thread')}"]
        if self.per_resource is not None:
            parts.append(f"{self.per_resource} per {self.map_by}")
        elif self.map_by != "auto":
            parts.append(f"by {self.map_by}")
        if self.oversubscribe:
            parts.append("cores shared")
        if self.bind_to != "auto":
            parts.append("unbound" if self.bind_to == "none" else f"bound to {self.bind_to}")
        if self.hosts:
            parts.append(f"on {', '.join(host.name for host in self.hosts)}")
        if self.mpi != USUAL_MPI:
            parts.append(self.mpi)
        return ", ".join(parts)


MOST_HOSTS = 256


def hosts_from(text: str) -> tuple[Host, ...]:
    """Hosts and their slots from words (`hostA:2,hostB:2`) or from the text of a hosts file, a host on each line:
    `hostA slots=2`, `hostA:2` or `hostA`, which has one slot. Text behind # is a comment; a host that is named again
    gets more slots, as with Open MPI. Raises BadInput, which names the line of a file."""
    slots: dict[str, int] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        where = f"line {number} of the hosts: " if len(lines) > 1 else ""
        words = line.partition("#")[0].split(",")
        for word in filter(None, (word.strip() for word in words)):
            name, slots_of_host = _host(word, where)
            slots[name] = slots.get(name, 0) + slots_of_host
    if len(slots) > MOST_HOSTS:
        raise BadInput(f"There are {len(slots)} hosts; a placement takes at most {MOST_HOSTS}.")
    if not slots:
        raise BadInput("There is no host in what was given for the hosts; it should be like hostA:2,hostB:2.")
    return tuple(Host(name=name, slots=number) for name, number in slots.items())


def positive(text: str) -> int | None:
    """The number from 1 to 1024 that a text is; None where it is none."""
    return int(text) if _POSITIVE.fullmatch(text) and int(text) <= 1024 else None


def _host(word: str, where: str) -> tuple[str, int]:
    """One host, written in any of the ways in which MPIs take it."""
    name, *more = word.split()
    name, colon, after = name.partition(":")
    slots = after if colon else "1"
    for setting in more:
        key, equals, value = setting.partition("=")
        if key == "slots" and equals and not colon:
            slots = value
        elif key not in ("max_slots", "max-slots") or not equals:
            raise BadInput(f"{where}{setting!r} can't follow host {name}; it should be like `hostA slots=2`.")
    if not _HOST.fullmatch(name):
        raise BadInput(f"{where}{name!r} is not a host name; hosts should be like hostA:2,hostB:2.")
    if not positive(slots):
        raise BadInput(f"{where}host {name} has {slots[:40]!r} slots; it should be a number from 1 to 1024.")
    return name, int(slots)


def default_for(cores: int) -> Placement:
    """The default placement for a machine of so many cores: a rank on each core up to four, two at
    least, so that there is something to distribute; further cores are shared out evenly."""
    ranks = min(max(cores, 2), MOST_BY_DEFAULT)
    return Placement(ranks=ranks, cores_per_rank=max(cores // ranks, 1))
