"""Federated averaging on our own ranks and over OpenFL, and what many institutions cost on few ranks.

All contenders average the same network. Each turn has new ranks, so that none inherits the memory of another, and the
time from their start to their end is measured, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workshop import bench
from workshop.bench import own_state
from workshop.core import topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement, default_for
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.store import Store
from workshop.workloads.openfl import environment
from workshop.workloads.openfl.status import request

# The settings of both engines in a comparison: scikit-learn's digits among three institutions.
SAME: Mapping[str, Any] = {"data": "digits", "partition": "iid", "collaborators": 3, "rounds": 5, "epochs": 2}
ENGINES = ("session", "openfl")
INSTITUTIONS = (2, 4, 8, 16, 32, 64)
# Institutions train on four fifths of their images and validate with the rest. With 5120 images in all, up to 64
# institutions have full batches of 32: any number of institutions takes the same number of steps in a round.
IMAGES, BATCH, VALIDATION = 5120, 32, 0.2
ROUNDS = 4  # for each number of institutions; the first one, which compiles, isn't counted
SECONDS = 600.0  # for one turn
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
Answer = dict[str, Any]


def read_institutions(text: str) -> tuple[int, ...]:
    """Return numbers of institutions from comma-separated text, ascending. Raises BadInput for a number that doesn't
    give full batches."""
    possible = [number for number in (1, *INSTITUTIONS) if IMAGES % number == 0]
    numbers = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) in possible for word in numbers):
        raise BadInput(f"institutions is {text!r}; it should be some of {', '.join(map(str, possible))}.")
    return tuple(sorted({int(word) for word in numbers}))


def run(
    repeats: int = 3,
    engines: Sequence[str] = ENGINES,
    institutions: Sequence[int] = INSTITUTIONS,
    same: Mapping[str, Any] = SAME,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure, while the caller has the machine reserved, and return the bench as JSON. Raises WorkshopError.

    `session` is the workload `federated`, `openfl` is OpenFL with the same settings (`same`). `openfl_per_round` is
    OpenFL's seconds per round over ours, without the first round, in which both compile. Our round includes the test on
    held-out images, OpenFL's doesn't. `openfl_whole` includes the start and end of all processes. Then the same images
    are dealt to more institutions: `memory_A_vs_B` compares the largest rank's memory, `cost_A_vs_B` the seconds per
    round.
    """
    openfl_python = environment.installed()
    with own_state() as folder, Store.open() as store:
        if openfl_python is not None:
            link_environment(openfl_python)
        where = bench.machine(PACKAGES)
        placement = default_for(topology.allowed_cores(where))
        chosen = [name for name in engines if openfl_python or name != "openfl"]
        turns = {name: partial(turn, store, placement, *request(name, same)) for name in chosen}
        for number in institutions:
            turns[f"institutions_{number}"] = partial(turn, store, placement, "federated", params_among(number, folder))
        # No warm-up: every turn starts new ranks.
        results = bench.interleaved(turns, repeats, progress, mirrored=True, warm_up=0)
    _check([results[name][-1] for name in chosen])
    placed = {**where, "placement": placement.describe(), "same": dict(same)}
    return _document(placed, results, [name for name in engines if name not in chosen], institutions)


def link_environment(openfl_python: Path) -> None:
    """Make the user's OpenFL environment available in the bench's own state folder."""
    environment.folder().symlink_to(openfl_python.parents[1])


def params_among(institutions: int, folder: Path) -> dict[str, Any]:
    """Return the params of a federation with this number of institutions on the same images: the digits, repeated."""
    from workshop.workloads.mnist.data.images import digits_file

    return {
        "data": str(digits_file(folder, IMAGES)),
        "partition": "iid",
        "validation": VALIDATION,
        "batch": BATCH,
        "epochs": 1,
        "institutions": institutions,
        "rounds": ROUNDS,
        "evaluate_images": None,
    }


def turn(store: Store, placement: Placement, name: str, params: Mapping[str, Any]) -> Answer:
    """Run a workload in a session of its own, and measure it with the session's start and end. Raises WorkshopError."""
    began = time.perf_counter()
    with private_session(store, placement) as session:
        run = client.wait(store, client.submit(store, session, name, params).id, timeout=SECONDS)
    seconds = time.perf_counter() - began
    if run.status != "completed":
        why = run.error["message"] if run.error else run.status
        raise WorkshopError(f"A run of {name} did not complete while it was measured: {why}")
    return {**run.metrics, "whole": seconds}


def _check(answers: Sequence[Answer]) -> None:
    """Raise WorkshopError where contenders didn't do the same work."""
    for metric in ("parameters", "rounds", "data_digest"):
        if len({answer.get(metric) for answer in answers}) > 1:
            raise WorkshopError(f"The contenders differ in {metric}: {[answer.get(metric) for answer in answers]}.")
    images = [[institution["images"] for institution in answer["institutions"]] for answer in answers]
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
        answers = results[name]
        facts = {"institutions": len(answers[-1]["institutions"]), "rounds": answers[-1]["rounds"]}
        for row, metric, unit in (
            ("round", "seconds_per_round", "s"),
            ("run", "whole", "s, from its start to its end"),
            ("accuracy", "held_out_accuracy", "share of held-out images"),
        ):
            rows.append(bench.row(f"{name}_{row}", _values(answers, metric), unit, **facts))
    note = "OpenFL isn't installed here; `workshop federation install` installs it."
    rows += [bench.missing(f"{name}_round", "s", note) for name in absent]
    for number in institutions:
        answers = results[f"institutions_{number}"]
        ranks = len(answers[-1]["memory"])
        facts = {"institutions": number, "ranks": ranks, "per_rank": -(-number // ranks), "images": IMAGES}
        name = f"institutions_{number}"
        rows.append(bench.row(f"{name}_round", _values(answers, "seconds_per_round"), "s", **facts))
        rows.append(bench.row(f"{name}_memory", _values(answers, "memory"), "bytes of the largest rank", **facts))
    ratios = []  # its name, the contenders, the metric
    if {"session", "openfl"} <= results.keys():
        ratios += [("openfl_per_round", "openfl", "session", "seconds_per_round")]
        ratios += [("openfl_whole", "openfl", "session", "whole")]
    if len(institutions) > 1:
        few, many = institutions[0], institutions[-1]
        for name, metric in (("memory", "memory"), ("cost", "seconds_per_round")):
            ratios.append((f"{name}_{many}_vs_{few}", f"institutions_{many}", f"institutions_{few}", metric))
    for name, first, second, metric in ratios:
        compared.append(bench.ratio(name, _values(results[first], metric), _values(results[second], metric)))
    intervals = {line["name"]: (line["low"], line["high"]) for line in compared}
    return bench.document(
        "federated", where, [*rows, *compared], {line["name"]: line["value"] for line in compared}, intervals
    )


def _values(answers: Sequence[Answer], metric: str) -> list[float]:
    """Return a metric of all turns; for memory, the largest rank's after the last round."""
    return [float(max(answer[metric]) if metric == "memory" else answer[metric]) for answer in answers]
