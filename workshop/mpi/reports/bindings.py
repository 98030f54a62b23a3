"""Parts that all readers of reports share: the binding of a rank in a line of a report, and numbers that a real machine
can have."""

from __future__ import annotations

from dataclasses import dataclass, field

from workshop.core.errors import BadInput

LARGEST_NUMBER = 65535
HOST = r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}"  # a host's name in patterns

Rows = list[dict[str, int]]  # of a machine's units: unit, core, package, numa, l3


@dataclass(frozen=True)
class RankBinding:
    """Where a report puts one rank, in the numbers that it uses.

    `bound` is None where it doesn't say, False where the rank may run on the whole host. Else one of `units` (numbers
    of the operating system), `cores` (as Open MPI 5 numbers them, see `rank_map`) and `hardware_threads` (logical
    numbers on the host) is there.
    """

    rank: int
    host: str
    line: int
    bound: bool | None = True
    units: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()
    hardware_threads: tuple[int, ...] = ()
    packages: tuple[int, ...] = ()  # in which it says that these lie, one by one
    pid: int | None = None


@dataclass
class MappingReport:
    """A reader's result: bindings, and what the report tells of its hosts' machines.

    `knows` names the fields of a rank that need no other source. `shows_machine` says whether the report shows all
    hardware threads of its hosts.
    """

    name: str
    bindings: list[RankBinding] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=dict)
    knows: frozenset[str] = frozenset()
    shows_machine: bool = False


def wrong(line: int, what: str) -> BadInput:
    """The error for a line of the text, which counts from 1."""
    return BadInput(f"Line {line}: {what}")


def excerpt(text: str) -> str:
    """A piece of the text, short enough for a sentence."""
    text = text.strip()
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def number(text: str, line: int, what: str) -> int:
    """A whole number as real machines have them. Raises BadInput."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise wrong(line, f"{what} is {excerpt(text)}; it should be a whole number.")
    return int(text)


def numbers(text: str, line: int, what: str, largest: int = LARGEST_NUMBER) -> tuple[int, ...]:
    """A list like 0-3,8 in order, each number once. Raises BadInput, also for lists that no machine can have."""
    values: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first = number(low, line, what)
        last = number(high, line, what) if dash else first
        if last < first or last > largest:
            raise wrong(line, f"{what} are {excerpt(text)}; they should be numbers like 0-3,8, up to {largest}.")
        values.update(range(first, last + 1))
    return tuple(sorted(values))


def row(unit: int, core: int, package: int) -> dict[str, int]:
    """A unit of a machine about which nothing else is known."""
    return {"unit": unit, "core": core, "package": package, "numa": package, "l3": package}
