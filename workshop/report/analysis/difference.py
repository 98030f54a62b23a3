"""Where ranks ran against where they were meant to: the predicted rank map beside the measured one, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import topology, words

Kind = Literal["ranks", "host", "unbound", "bound", "elsewhere", "wider", "narrower", "threads"]
Report = Mapping[str, Any]  # a rank's part of a rank map
FEW = 4  # ranks of which each has a sentence of its own
AS_MEANT = "Every rank ran where it was meant to."


@dataclass(frozen=True)
class Difference:
    """One rank that was somewhere else than meant. `words` is a sentence without its full stop."""

    rank: int
    kind: Kind
    words: str


# How several ranks with the same kind of difference are told of: "ranks 0 to 7 …".
_GROUPED: dict[str, str] = {
    "host": "ran on other hosts than they were meant for",
    "unbound": "were meant to be bound, but could run anywhere",
    "bound": "were meant to be unbound, but were bound",
    "elsewhere": "ran elsewhere than they were meant to",
    "wider": "could run on more than was meant",
    "narrower": "could run on less than was meant",
    "threads": "have threads that were seen outside of what their rank may use",
}


def difference(
    predicted: Mapping[str, Any] | None, measured: Mapping[str, Any] | None, machine: Mapping[str, Any] | None = None
) -> list[Difference]:
    """What went elsewhere, in rank order; empty where everything ran as it was meant to, or one of the two is missing.

    The machine of the run (see `core.topology`) turns units into cores and tells who is unbound. What the two call
    their hosts is no difference: see `aligned`.
    """
    meant, ran = _reports(aligned(predicted, measured)), _reports(measured)
    if not meant or not ran:
        return []
    view = _View(machine, meant, ran)
    found = []
    for rank in sorted({*meant, *ran}):
        if rank not in ran:
            found.append(
                Difference(rank, "ranks", f"rank {rank} was meant for {view.place(meant[rank])}, but didn't run")
            )
        elif rank not in meant:
            found.append(
                Difference(rank, "ranks", f"rank {rank} wasn't meant to be, but ran on {view.place(ran[rank])}")
            )
        else:
            found += view.compare(meant[rank], ran[rank])
    return found


def sentence(differences: Sequence[Difference]) -> str:
    """All differences in a few sentences; one that says so where there is none."""
    return " ".join(sentences(differences)) or AS_MEANT


def sentences(differences: Sequence[Difference]) -> list[str]:
    """A sentence for each difference; of many ranks that differ in the same way one for all, with an example."""
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for one in differences:
        by_kind[one.kind].append(one)
    said = []
    for kind, alike in by_kind.items():
        if len(alike) <= FEW or kind not in _GROUPED:
            said += [f"{words.capital(one.words)}." for one in alike[:FEW]]
            if len(alike) > FEW:
                said.append(f"So it is with {len(alike) - FEW} more ranks.")
        else:
            ranks = words.numbered("rank", [one.rank for one in alike])
            said.append(f"{words.capital(ranks)} {_GROUPED[kind]}: {alike[0].words}, for example.")
    return said


def _reports(rank_map: Mapping[str, Any] | None) -> dict[int, Report]:
    return {report["rank"]: report for report in (rank_map or {}).get("ranks") or []}


class _View:
    """Both maps and the machine, to look up who else is where."""

    def __init__(
        self, machine: Mapping[str, Any] | None, meant: Mapping[int, Report], ran: Mapping[int, Report]
    ) -> None:
        self.rows = {
            host: {row["unit"]: row for row in one.get("units") or []}
            for host, one in topology.machines(machine).items()
        }
        self.meant, self.ran = meant, ran
        self.hosts = {report["host"] for report in ran.values()}
        # One host against one host: what each source calls it is no difference.
        self.one_host = len(self.hosts) == 1 and len({report["host"] for report in meant.values()}) == 1
        self.companions: dict[tuple[str, int], set[int]] = defaultdict(set)  # ranks by host and unit
        for rank, report in ran.items():
            for unit in report["units"]:
                self.companions[report["host"], unit].add(rank)

    def compare(self, meant: Report, ran: Report) -> list[Difference]:
        """The differences of one rank."""
        found = [one for one in [self._moved(meant, ran)] if one]
        strays = self._strays(ran)
        return [*found, strays] if strays else found

    def _moved(self, meant: Report, ran: Report) -> Difference | None:
        rank, host = ran["rank"], ran["host"]
        wanted, got = set(meant["units"]), set(ran["units"])
        if not self.one_host and meant["host"] != host:
            if self._everything(host, got):
                could = f"where it could use {self._all(host)}"
                return Difference(
                    rank, "host", f"rank {rank} was meant for {self.place(meant)}, ran on {host}, {could}"
                )
            where = f"was meant for {self.place(meant)}, ran on {self.place(ran)}"
            return Difference(rank, "host", f"rank {rank} {where}{self._together(meant, ran)}")
        if not wanted or not got or wanted == got:  # without units it isn't known where
            return None
        on = self._on(host)
        if self._everything(host, got):
            could = f"could run on {self._all(host)}"
            return Difference(rank, "unbound", f"rank {rank} was meant for {self.units(host, wanted)}{on}, but {could}")
        if self._everything(host, wanted):
            return Difference(
                rank, "bound", f"rank {rank} was meant to be unbound{on}, but was bound to {self.units(host, got)}"
            )
        whole = self._whole(host, wanted) and self._whole(host, got)  # both in the same words
        there, here = self.units(host, wanted, whole), self.units(host, got, whole)
        kind: Kind
        if wanted < got:
            kind, where = "wider", f"could run on {here}"
        elif got < wanted:
            kind, where = "narrower", f"could run on {here} only"
        else:
            kind, where = "elsewhere", f"ran on {here}"
        return Difference(rank, kind, f"rank {rank} was meant for {there}{on}, {where}{self._together(meant, ran)}")

    def _strays(self, ran: Report) -> Difference | None:
        """Threads that were seen where their rank may not run: somebody bound them otherwise."""
        allowed, outside = set(ran["units"]), set()
        count = 0
        for thread in ran.get("threads") or []:
            beyond = set(thread.get("units_seen") or []) - allowed
            outside |= beyond
            count += bool(beyond)
        if not allowed or not count:
            return None
        host, were = ran["host"], "was" if count == 1 else "were"
        where = f"{self.units(host, outside)}, outside of {self.units(host, allowed)}"
        return Difference(
            ran["rank"], "threads", f"{words.count(count, 'thread')} of rank {ran['rank']} {were} seen on {where}"
        )

    def place(self, report: Report) -> str:
        """Where a rank is or should be."""
        host, units = report["host"], set(report["units"])
        if not units:
            return host or "its host"
        where = self._all(host) if self._everything(host, units) else self.units(host, units)
        return f"{where}{'' if self.one_host else f' of {host}'}"

    def units(self, host: str, units: Iterable[int], whole: bool = True) -> str:
        """Units as cores, where they are whole ones of a known machine."""
        some, rows = set(units), self._rows(host)
        if whole and self._whole(host, some):
            return words.numbered("core", sorted({rows[unit]["core"] for unit in some}))
        return words.numbered("unit", sorted(some))

    def _whole(self, host: str, some: set[int]) -> bool:
        rows = self._rows(host)
        cores = {rows[unit]["core"] for unit in some if unit in rows}
        return bool(cores) and {unit for unit, row in rows.items() if row["core"] in cores} == some

    def _together(self, meant: Report, ran: Report) -> str:
        """With whom a rank had to share, although it wasn't meant to."""
        rank, host = ran["rank"], ran["host"]
        others = {other for unit in ran["units"] for other in self.companions[host, unit]} - {rank}
        planned = {
            other
            for other, report in self.meant.items()
            if report["host"] == meant["host"] and set(report["units"]) & set(meant["units"])
        }
        return f" together with {words.numbered('rank', sorted(others - planned))}" if others - planned else ""

    def _everything(self, host: str, units: set[int]) -> bool:
        rows = self._rows(host)
        return len(rows) > 1 and units >= rows.keys()

    def _all(self, host: str) -> str:
        return f"all {words.count(len({row['core'] for row in self._rows(host).values()}), 'core')}"

    def _on(self, host: str) -> str:
        return "" if self.one_host else f" of {host}"

    def _rows(self, host: str) -> Mapping[int, Mapping[str, Any]]:
        if host in self.rows or len(self.rows) != 1:
            return self.rows.get(host, {})
        return next(iter(self.rows.values()))  # described once, for all hosts alike


def aligned(predicted: Mapping[str, Any] | None, measured: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The prediction with hosts called as in the measured map.

    A host may call itself by more or less than its placement does (node1.cluster, node1). Where no name says which
    host is which, they are the same if the same ranks are together on them; single hosts are.
    """
    if not predicted:
        return None
    meant, ran = _together(predicted), _together(measured)
    names = {host: host for host in meant if host in ran}
    short = {host.partition(".")[0]: host for host in ran}
    if len(short) == len(ran):
        found = {host: short[label] for host in meant if (label := host.partition(".")[0]) in short}
        names = found | names if len({*(found | names).values()}) == len(found | names) else names
    if not names and (len(meant) == len(ran) == 1 or sorted(meant.values()) == sorted(ran.values())):
        names = dict(zip(sorted(meant, key=meant.__getitem__), sorted(ran, key=ran.__getitem__), strict=True))
    reports = predicted.get("ranks") or []
    return {**predicted, "ranks": [{**one, "host": names.get(one["host"], one["host"])} for one in reports]}


def _together(rank_map: Mapping[str, Any] | None) -> dict[str, list[int]]:
    """The ranks of each host."""
    found: dict[str, list[int]] = defaultdict(list)
    for rank, report in sorted(_reports(rank_map).items()):
        found[report["host"]].append(rank)
    return dict(found)
