"""Predictions for runs: where the mapper would put their ranks on the machine that they ran on.

Asking takes a tenth of a second and starts a process, so a worker of its own does it, once for all runs of the same
placement on the same machine; a page shows an answer as soon as it is there.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from workshop.core import machines, topology
from workshop.core.documents import finite
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import mapper
from workshop.mpi.mapper import Prediction
from workshop.report.sentences import dumps
from workshop.store.records import RunRecord

MOST = 256  # answers to remember

log = logging.getLogger(__name__)


class Predictions:
    """Answers by placement and machine; any thread may ask."""

    def __init__(self, ask: Callable[[Placement, MachineDescription], Prediction] = mapper.predict) -> None:
        self._ask = ask
        self._answers: OrderedDict[str, Future[Prediction]] = OrderedDict()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="predictions")

    def lookup(self, run: RunRecord) -> Prediction | None:
        """The prediction for a run that has a rank map; None while there is none yet. Returns at once."""
        if not run.machine or not (run.rank_map or {}).get("ranks"):
            return None
        hosts = sorted({str(report["host"]) for report in run.rank_map["ranks"]}) if run.rank_map else []
        key = dumps([run.placement, run.machine, hosts])
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            else:
                self._answers[key] = self._worker.submit(self._answer, run.placement, run.machine, len(hosts))
                while len(self._answers) > MOST:
                    self._answers.popitem(last=False)[1].cancel()
            answer = self._answers[key]
        return answer.result() if answer.done() and not answer.cancelled() else None

    def settle(self, seconds: float = 2 * mapper.SECONDS) -> None:
        """Wait until all that was asked is answered."""
        with self._lock:
            pending = list(self._answers.values())
        wait(pending, seconds)

    def _answer(self, placement: Mapping[str, Any], machine: Mapping[str, Any], hosts: int) -> Prediction:
        try:
            where = Placement.parse(placement)
            if hosts > 1 and not where.hosts:
                return Prediction(note="No prediction: the placement doesn't name the hosts that it ran on.")
            return self._ask(where, described(machine))
        except WorkshopError as error:
            return Prediction(note=f"No prediction: {error}")
        except Exception:
            log.exception("could not ask for a prediction")
            return Prediction(note="No prediction: the mapper could not be asked; the dashboard's log says why.")


def described(machine: Mapping[str, Any]) -> MachineDescription:
    """A run's machine in the form that mappers need. Raises BadInput for a machine that can't be described."""
    first, *others = topology.machines(machine).values()
    units = finite(first["units"])
    if any(finite(other["units"]) != units for other in others):
        raise BadInput("its hosts are not all of the same kind.")
    here = machines.this()
    if here.machine["units"] == units:
        return here
    alone = {name: value for name, value in first.items() if name != "more"} | {"host": ""}
    return replace(_invented(units), name="the run's machine", machine=alone)


def _invented(units: list[dict[str, int]]) -> MachineDescription:
    """An invented machine with the same cores, caches and nodes in each package, where all packages are alike."""

    def count(what: str) -> int:
        return len({row[what] for row in units})

    packages, cores = count("package"), count("core")
    shape = f"{packages}x{cores // packages}x{len(units) // cores}"
    invented = machines.synthetic(shape, *(max(count(what) // packages, 1) for what in ("numa", "l3")))
    if _pattern(invented.machine["units"]) != _pattern(units):
        raise BadInput("its packages or cores are not all alike, and it isn't the machine of this dashboard.")
    return invented


def _pattern(units: list[dict[str, int]]) -> list[tuple[int, ...]]:
    """The objects that contain each unit, in the order of the cores; the units' own numbers may differ."""
    return sorted((row["package"], row["numa"], row["l3"], row["core"]) for row in units)


PREDICTIONS = Predictions()
