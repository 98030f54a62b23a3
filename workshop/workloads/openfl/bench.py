"""Federated averaging on our own ranks and over OpenFL, and what many institutions cost on few ranks.

All contenders average the same network; each turn has ranks of its own, so that nobody inherits anybody's memory, and
what they take from their start to their end is known, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workshop import bench
from workshop.bench.state import own_state
from workshop.core import topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement, default_for
from workshop.registry import workload
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.store import Store
from workshop.workloads.openfl import environment

# What both engines do in a comparison: scikit-learn's digits among three institutions.
SAME: Mapping[str, Any] = {"data": "digits", "partition": "iid", "collaborators": 3, "rounds": 5, "epochs": 2}
ENGINES = ("session", "openfl")
INSTITUTIONS = (2, 4, 8, 16, 32, 64)
# With so many images in all, 64 institutions and fewer have whole batches of 32: four fifths of theirs, the others
# validate. So all numbers of institutions take as many steps in a round, and read as many images.
IMAGES, BATCH, VALIDATION = 5120, 32, 0.2
ROUNDS = 4  # of each number of institutions; the first one, which compiles, isn't counted
SECONDS = 600.0  # for one turn
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
Answer = dict[str, Any]


def read_institutions(text: str) -> tuple[int, ...]:
    """Numbers of institutions with commas between, ascending. Raises BadInput where images wouldn't make whole
    batches."""
    possible = [number for number in (1, *INSTITUTIONS) if IMAGES % number == 0]
    given = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) in possible for word in given):
        raise BadInput(f"institutions is {text!r}; it should be some of {', '.join(map(str, possible))}.")
    return tuple(sorted({int(word) for word in given}))


def run(
    repeats: int = 3,
    engines: Sequence[str] = ENGINES,
    institutions: Sequence[int] = INSTITUTIONS,
    same: Mapping[str, Any] = SAME,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure while no other run that measures does; returns the bench as JSON. Raises WorkshopError. `session` is the
    workload `federated`, `openfl` the same over OpenFL (`same`, settings of the latter). `openfl_per_round` is OpenFL's
    seconds per round over ours, without the first, in which both compile; our round has the test on held-out images in
    it, OpenFL's is beside its own. `openfl_whole` counts start and end of all processes, too. Then the same data among
    more institutions: `memory_A_vs_B` compares the largest rank's memory, `cost_A_vs_B` the seconds per round."""
    from workshop.runtime.measurement_lock import measuring_lock

    theirs = environment.installed()
    with measuring_lock(), own_state() as folder, Store.open() as store:
        _link(theirs)
        where = bench.machine(PACKAGES)
        placement = default_for(topology.allowed_cores(where))
        work = FederationTurns(store, placement, folder)
        chosen = [name for name in engines if theirs or name != "openfl"]
        turns: dict[str, Callable[[], Answer]] = {name: work.engine(name, same) for name in chosen}
        turns |= {f"institutions_{number}": work.institutions(number) for number in institutions}
        # Nothing is warmed up: every turn begins with nothing.
        results = bench.interleaved(turns, repeats, progress, mirrored=True, warm_up=0)
    _check([results[name][-1] for name in chosen])
    placed = {**where, "placement": placement.describe(), "same": dict(same)}
    return _document(placed, results, [name for name in engines if name not in chosen], institutions)


def _link(theirs: Path | None) -> None:
    """OpenFL's environment is the user's, also where the state folder is the bench's own."""
    if theirs is not None:
        environment.folder().symlink_to(theirs.parents[1])


class FederationTurns:
    """What contenders do in a turn."""

    def __init__(self, store: Store, placement: Placement, folder: Path) -> None:
        self.store, self.placement, self.folder = store, placement, folder

    def engine(self, name: str, same: Mapping[str, Any]) -> Callable[[], Answer]:
        """A federation on our ranks, or over OpenFL."""
        if name == "openfl":
            return lambda: self.turn("openfl", same)
        params: Any = workload("openfl").check(same)
        return lambda: self.turn("federated", params.as_federated().model_dump(mode="json"))

    def institutions(self, number: int) -> Callable[[], Answer]:
        """The same images among so many institutions."""
        wanted = {"data": str(self.data), "partition": "iid", "validation": VALIDATION, "batch": BATCH, "epochs": 1}
        wanted |= {"institutions": number, "rounds": ROUNDS, "evaluate_images": None}
        return lambda: self.turn("federated", wanted)

    def turn(self, name: str, params: Mapping[str, Any]) -> Answer:
        """One run, from no rank to no rank. Raises WorkshopError."""
        began = time.perf_counter()
        with private_session(self.store, self.placement) as session:
            submitted = client.submit(self.store, session, name, params)
            run = client.wait(self.store, submitted.id, timeout=SECONDS)
        whole = time.perf_counter() - began
        if run.status != "completed":
            why = run.error["message"] if run.error else run.status
            raise WorkshopError(f"A run of {name} did not complete while it was measured: {why}")
        return {**run.metrics, "whole": whole}

    @property
    def data(self) -> Path:
        """MNIST's file with the digits in it, again and again."""
        from workshop.engine.data.images import digits_file

        return digits_file(self.folder, IMAGES)


def _check(answers: Sequence[Answer]) -> None:
    """Raises WorkshopError where contenders didn't do the same work."""
    for what in ("parameters", "rounds", "data_digest"):
        if len({answer.get(what) for answer in answers}) > 1:
            raise WorkshopError(f"The contenders differ in {what}: {[answer.get(what) for answer in answers]}.")
    images = [[one["images"] for one in answer["institutions"]] for answer in answers]
    if any(other != images[0] for other in images):
        raise WorkshopError(f"The contenders' institutions learned from different numbers of images: {images}.")


def _document(
    where: Mapping[str, Any],
    results: Mapping[str, Sequence[Answer]],
    absent: Sequence[str],
    institutions: Sequence[int],
) -> dict[str, Any]:
    rows, compared = [], []
    for name in (name for name in ENGINES if name in results):
        given = results[name]
        facts = {"institutions": len(given[-1]["institutions"]), "rounds": given[-1]["rounds"]}
        rows.append(bench.row(f"{name}_round", _of(given, "seconds_per_round"), "s", **facts))
        rows.append(bench.row(f"{name}_run", _of(given, "whole"), "s, from its start to its end", **facts))
        rows.append(bench.row(f"{name}_accuracy", _of(given, "held_out_accuracy"), "share of held-out images", **facts))
    note = "OpenFL isn't installed here; `workshop federation install` installs it."
    rows += [bench.missing(f"{name}_round", "s", note) for name in absent]
    for number in institutions:
        given = results[f"institutions_{number}"]
        ranks = len(given[-1]["memory"])
        facts = {"institutions": number, "ranks": ranks, "per_rank": -(-number // ranks), "images": IMAGES}
        rows.append(bench.row(f"institutions_{number}_round", _of(given, "seconds_per_round"), "s", **facts))
        rows.append(bench.row(f"institutions_{number}_memory", _memory(given), "bytes of the largest rank", **facts))
    if {"session", "openfl"} <= results.keys():
        for ratio, what in (("openfl_per_round", "seconds_per_round"), ("openfl_whole", "whole")):
            compared.append(bench.ratio(ratio, _of(results["openfl"], what), _of(results["session"], what)))
    if len(institutions) > 1:
        few, many = institutions[0], institutions[-1]
        most, fewest = results[f"institutions_{many}"], results[f"institutions_{few}"]
        compared.append(bench.ratio(f"memory_{many}_vs_{few}", _memory(most), _memory(fewest)))
        costs = [_of(given, "seconds_per_round") for given in (most, fewest)]
        compared.append(bench.ratio(f"cost_{many}_vs_{few}", *costs))
    ratios = {line["name"]: line["value"] for line in compared}
    intervals = {line["name"]: (line["low"], line["high"]) for line in compared}
    return bench.document("federated", where, [*rows, *compared], ratios, intervals)


def _of(given: Sequence[Answer], what: str) -> list[float]:
    return [float(answer[what]) for answer in given]


def _memory(given: Sequence[Answer]) -> list[float]:
    """Of the largest rank, after the last round."""
    return [float(max(answer["memory"])) for answer in given]
