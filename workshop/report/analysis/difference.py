"""Where ranks ran against where they were meant to: the predicted rank map beside the measured one, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import topology, words

Kind = Literal["ranks", "place", "threads"]
Report = Mapping[str, Any]  # a rank's part of a rank map
FEW_RANKS = 4  # ranks of which each has a sentence of its own
AS_MEANT = "Every rank ran where it was meant to."


@dataclass(frozen=True)
class Difference:
    """One rank that was somewhere else than meant. `words` is a sentence without its full stop."""

    rank: int
    kind: Kind
    words: str


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
        meant_for, ran_as = predicted_reports.get(rank), ran.get(rank)
        parts: list[tuple[Kind, str]] = []
        if meant_for and ran_as:
            parts = [("place", view.moved(meant_for, ran_as)), ("threads", view.strays(ran_as))]
        elif meant_for:
            parts = [("ranks", f"rank {rank} was meant for {view.place(meant_for)}, but didn't run")]
        elif ran_as:
            parts = [("ranks", f"rank {rank} wasn't meant to be, but could run on {view.place(ran_as)}")]
        differences += [Difference(rank, kind, sentence) for kind, sentence in parts if sentence]
    return differences


def sentences(differences: Sequence[Difference]) -> list[str]:
    """A sentence for each difference; of many ranks that differ in the same way for the first few."""
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for difference in differences:
        by_kind[difference.kind].append(difference)
    lines = []
    for same_kind in by_kind.values():
        lines += [f"{words.capital(difference.words)}." for difference in same_kind[:FEW_RANKS]]
        if len(same_kind) > FEW_RANKS:
            lines.append(f"So it is with {len(same_kind) - FEW_RANKS} more ranks.")
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

    def moved(self, predicted: Report, ran: Report) -> str:
        """The words on a rank in another place; "" where it is in its place, or that isn't known."""
        units = set(predicted["units"]), set(ran["units"])
        same_host = self.one_host or predicted["host"] == ran["host"]
        if same_host and (not all(units) or units[0] == units[1]):
            return ""
        as_cores = all(self._are_whole_cores(report["host"], set(report["units"])) for report in (predicted, ran))
        was, now = self.place(predicted, as_cores), self.place(ran, as_cores)  # both in the same words
        return f"rank {ran['rank']} was meant for {was}, could run on {now}{self._together(predicted, ran)}"

    def strays(self, ran: Report) -> str:
        """The words on threads that were seen where their rank may not run: somebody bound them otherwise."""
        host, allowed = ran["host"], set(ran["units"])
        units_of_threads = (set(thread.get("units_seen") or []) for thread in ran.get("threads") or [])
        strays = [units - allowed for units in units_of_threads if units - allowed]
        if not allowed or not strays:
            return ""
        where = f"{self.units(host, set().union(*strays))}, outside of {self.units(host, allowed)}"
        were = words.verb(len(strays), "was", "were")
        return f"{words.count(len(strays), 'thread')} of rank {ran['rank']} {were} seen on {where}"

    def place(self, report: Report, as_cores: bool = True) -> str:
        """Where a rank is or should be."""
        host, units = report["host"], set(report["units"])
        if not units:
            return str(host) or "its host"
        where = self.units(host, units, as_cores)
        if self._everything(host, units):
            where = f"all {words.count(len({row['core'] for row in self._rows(host).values()}), 'core')}"
        return where if self.one_host else f"{where} of {host}"

    def units(self, host: str, units: set[int], as_cores: bool = True) -> str:
        """Units as cores, where they are whole ones of a known machine."""
        rows = self._rows(host)
        if as_cores and self._are_whole_cores(host, units):
            return words.numbered("core", sorted({rows[unit]["core"] for unit in units}))
        return words.numbered("hardware thread", sorted(units))

    def _are_whole_cores(self, host: str, some: set[int]) -> bool:
        rows = self._rows(host)
        cores = {rows[unit]["core"] for unit in some if unit in rows}
        return bool(cores) and {unit for unit in rows if rows[unit]["core"] in cores} == some

    def _together(self, predicted: Report, ran: Report) -> str:
        """With whom a rank had to share, although it wasn't meant to."""
        rank, host = ran["rank"], ran["host"]
        if self._everything(host, set(ran["units"])):
            return ""
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
    short = {host.partition(".")[0]: host for host in measured_hosts}
    names = {host: short[label] for host in predicted_hosts if (label := host.partition(".")[0]) in short}
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
