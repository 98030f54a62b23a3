"""Where ranks ran against where they were meant to: the predicted rank map beside the measured one, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import topology, words

Kind = Literal["ranks", "host", "unbound", "bound", "elsewhere", "wider", "narrower", "threads"]
Report = Mapping[str, Any]  # a rank's part of a rank map
FEW_RANKS = 4  # ranks of which each has a sentence of its own
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
    predicted_map: Mapping[str, Any] | None,
    measured_map: Mapping[str, Any] | None,
    machine: Mapping[str, Any] | None = None,
) -> list[Difference]:
    """The differences in rank order; empty where every rank ran as predicted, or one of the maps is missing. The run's
    machine turns units into cores and tells who is unbound. Different names of a host are none, see `aligned`."""
    predicted_reports, ran = _reports(aligned(predicted_map, measured_map)), _reports(measured_map)
    if not predicted_reports or not ran:
        return []
    view = _View(machine, predicted_reports, ran)
    differences = []
    for rank in sorted({*predicted_reports, *ran}):
        kinds: list[tuple[Kind, str] | None] = []
        if rank not in ran:
            kinds.append(("ranks", f"rank {rank} was meant for {view.place(predicted_reports[rank])}, but didn't run"))
        elif rank not in predicted_reports:
            kinds.append(("ranks", f"rank {rank} wasn't meant to be, but ran on {view.place(ran[rank])}"))
        else:
            kinds += [view.moved(predicted_reports[rank], ran[rank]), view.strays(ran[rank])]
        differences += [Difference(rank, *kind_and_words) for kind_and_words in kinds if kind_and_words]
    return differences


def sentences(differences: Sequence[Difference]) -> list[str]:
    """A sentence for each difference; of many ranks that differ in the same way one for all, with an example."""
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for difference in differences:
        by_kind[difference.kind].append(difference)
    lines = []
    for kind, same_kind in by_kind.items():
        if len(same_kind) <= FEW_RANKS or kind not in _GROUPED:
            lines += [f"{words.capital(difference.words)}." for difference in same_kind[:FEW_RANKS]]
            if len(same_kind) > FEW_RANKS:
                lines.append(f"So it is with {len(same_kind) - FEW_RANKS} more ranks.")
        else:
            ranks = words.numbered("rank", [difference.rank for difference in same_kind])
            lines.append(f"{words.capital(ranks)} {_GROUPED[kind]}: {same_kind[0].words}, for example.")
    return lines


def _reports(rank_map: Mapping[str, Any] | None) -> dict[int, Report]:
    return {report["rank"]: report for report in (rank_map or {}).get("ranks") or []}


class _View:
    """Both maps and the machine, to look up who else is where."""

    def __init__(
        self, machine: Mapping[str, Any] | None, predicted: Mapping[int, Report], ran: Mapping[int, Report]
    ) -> None:
        self.rows = {
            host: {row["unit"]: row for row in host_machine.get("units") or []}
            for host, host_machine in topology.machines(machine).items()
        }
        self.meant = predicted
        # One host against one host: what each source calls it is no difference.
        self.one_host = all(len({report["host"] for report in some.values()}) == 1 for some in (predicted, ran))
        self.companions: dict[tuple[str, int], set[int]] = defaultdict(set)  # ranks by host and unit
        for rank, report in ran.items():
            for unit in report["units"]:
                self.companions[report["host"], unit].add(rank)

    def moved(self, predicted: Report, ran: Report) -> tuple[Kind, str] | None:
        """The kind of a rank's difference in place, and its words."""
        host, begin = ran["host"], f"rank {ran['rank']} was meant"
        predicted_units, units = set(predicted["units"]), set(ran["units"])
        if not self.one_host and predicted["host"] != host:
            where = f"{self.place(ran)}{self._together(predicted, ran)}"
            if self._everything(host, units):
                where = f"{host}, where it could use {self._all(host)}"
            return "host", f"{begin} for {self.place(predicted)}, ran on {where}"
        if not predicted_units or not units or predicted_units == units:  # without units it isn't known where
            return None
        on = "" if self.one_host else f" of {host}"
        if self._everything(host, units):
            return "unbound", f"{begin} for {self.units(host, predicted_units)}{on}, but could run on {self._all(host)}"
        if self._everything(host, predicted_units):
            return "bound", f"{begin} to be unbound{on}, but was bound to {self.units(host, units)}"
        # Both in the same words.
        whole_cores = all(self._are_whole_cores(host, some) for some in (predicted_units, units))
        place = self.units(host, units, whole_cores)
        kind: Kind = "wider" if predicted_units < units else "narrower" if units < predicted_units else "elsewhere"
        verb = "could run" if kind in ("wider", "narrower") else "ran"
        where = f"{verb} on {place}{' only' if kind == 'narrower' else ''}"
        begin += f" for {self.units(host, predicted_units, whole_cores)}{on}"
        return kind, f"{begin}, {where}{self._together(predicted, ran)}"

    def strays(self, ran: Report) -> tuple[Kind, str] | None:
        """Threads that were seen where their rank may not run: somebody bound them otherwise."""
        host, allowed = ran["host"], set(ran["units"])
        units_of_threads = (set(thread.get("units_seen") or []) for thread in ran.get("threads") or [])
        strays = [units - allowed for units in units_of_threads if units - allowed]
        if not allowed or not strays:
            return None
        where = f"{self.units(host, set().union(*strays))}, outside of {self.units(host, allowed)}"
        were = words.verb(len(strays), "was", "were")
        return "threads", f"{words.count(len(strays), 'thread')} of rank {ran['rank']} {were} seen on {where}"

    def place(self, report: Report) -> str:
        """Where a rank is or should be."""
        host, units = report["host"], set(report["units"])
        if not units:
            return host or "its host"
        where = self._all(host) if self._everything(host, units) else self.units(host, units)
        return f"{where}{'' if self.one_host else f' of {host}'}"

    def units(self, host: str, units: Iterable[int], as_cores: bool = True) -> str:
        """Units as cores, where they are whole ones of a known machine."""
        some, rows = set(units), self._rows(host)
        if as_cores and self._are_whole_cores(host, some):
            return words.numbered("core", sorted({rows[unit]["core"] for unit in some}))
        return words.numbered("hardware thread", sorted(some))

    def _are_whole_cores(self, host: str, some: set[int]) -> bool:
        rows = self._rows(host)
        cores = {rows[unit]["core"] for unit in some if unit in rows}
        return bool(cores) and {unit for unit in rows if rows[unit]["core"] in cores} == some

    def _together(self, predicted: Report, ran: Report) -> str:
        """With whom a rank had to share, although it wasn't meant to."""
        rank, host = ran["rank"], ran["host"]
        others = {other for unit in ran["units"] for other in self.companions[host, unit]} - {rank}
        others -= {
            other
            for other, report in self.meant.items()
            if report["host"] == predicted["host"] and set(report["units"]) & set(predicted["units"])
        }
        return f" together with {words.numbered('rank', sorted(others))}" if others else ""

    def _everything(self, host: str, units: set[int]) -> bool:
        rows = self._rows(host)
        return len(rows) > 1 and units >= rows.keys()

    def _all(self, host: str) -> str:
        return f"all {words.count(len({row['core'] for row in self._rows(host).values()}), 'core')}"

    def _rows(self, host: str) -> Mapping[int, Mapping[str, Any]]:
        if host in self.rows or len(self.rows) != 1:
            return self.rows.get(host, {})
        return next(iter(self.rows.values()))  # described once, for all hosts alike


def aligned(predicted: Mapping[str, Any] | None, measured: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The prediction with hosts called as in the measured map: a host may call itself by more than its placement does
    (node1.cluster, node1). Where no name says which is which, hosts with the same ranks are the same."""
    if not predicted:
        return None
    predicted_hosts, measured_hosts = _together(predicted), _together(measured)
    names = {host: host for host in predicted_hosts if host in measured_hosts}
    short = {host.partition(".")[0]: host for host in measured_hosts}
    if len(short) == len(measured_hosts):
        by_short_name = {host: short[label] for host in predicted_hosts if (label := host.partition(".")[0]) in short}
        if len({*(by_short_name | names).values()}) == len(by_short_name | names):
            names = by_short_name | names
    same_ranks = sorted(predicted_hosts.values()) == sorted(measured_hosts.values())
    if not names and (same_ranks or len(predicted_hosts) == len(measured_hosts) == 1):
        in_order = (sorted(hosts, key=hosts.__getitem__) for hosts in (predicted_hosts, measured_hosts))
        names = dict(zip(*in_order, strict=True))
    reports = predicted.get("ranks") or []
    return {**predicted, "ranks": [{**report, "host": names.get(report["host"], report["host"])} for report in reports]}


def _together(rank_map: Mapping[str, Any] | None) -> dict[str, list[int]]:
    """The ranks of each host."""
    ranks_by_host: dict[str, list[int]] = defaultdict(list)
    for rank, report in sorted(_reports(rank_map).items()):
        ranks_by_host[report["host"]].append(rank)
    return dict(ranks_by_host)
