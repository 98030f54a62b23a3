"""What each step runs, given what those before it have found. Pure.

All ranks share the batch of a step of training, so that every number of ranks does the same work; but for the step
on evaluation, in which each rank brings a batch of its own, as nodes do in the article.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.placement import Placement
from workshop.study.guided import places
from workshop.study.guided.evidence import evaluating
from workshop.study.guided.found import Cells, Found
from workshop.study.guided.places import AS_FOUND, INTER, INTRA, MPI_NAMES, OMP, SETS
from workshop.study.guided.saying import at
from workshop.study.trials import Cell

OVERALL = frozenset("hi")  # steps that compare training and evaluation together
INFERENCES = ("predict", "predict_on_batch", "compiled")
BEFORE, AFTER = "before", "after"
# The article's fault: as often as one rank's images say, however many ranks there are, and by rank 0 alone.
FAULT = {"evaluate_unit": "images", "evaluate_by": "rank0"}
MENDED = {"evaluate_unit": "iterations", "evaluate_by": "all"}
EVALUATED = 100  # held-out images where evaluation isn't what is looked at
MANY = 300  # where it is: of the digits nearly all; all 10,000 of MNIST would take longer than the training
EIGHT = 8  # ranks up to which evaluation is compared: one rank alone has to read as many images as all of them
NAIVE = "naive start"


def base(found: Found, ranks: int = 1, **more: Any) -> dict[str, Any]:
    """Params of a trial whose ranks share the batch, and that evaluates at its end only."""
    params = found.setting.params
    return {
        **params,
        "batch": params["batch"] // ranks,
        "evaluate_every": params["iterations"],
        "evaluate_images": EVALUATED,
        "trace": 0,
        **more,
    }


def start(found: Found) -> list[Cell]:
    """a: the naive start, and the same rank with all cores, where there is more than one."""
    cores = found.setting.cores
    naive = Cell(NAIVE, base(found), places.naive(cores).as_json(), {"cores": 1})
    if cores == 1:
        return [naive]
    return [naive, Cell("all cores", base(found), places.place(1, cores, cores).as_json(), {"cores": cores})]


def openmp(found: Found) -> list[Cell]:
    """b: OMP_NUM_THREADS alone; TensorFlow's own threads stay as many as there are cores."""
    cores = found.setting.cores
    where = places.place(1, cores, cores)
    return [
        Cell(
            f"{OMP}={threads}",
            base(found),
            places.with_variables(where, {OMP: str(threads)}).as_json(),
            {f"env.{OMP}": threads},
        )
        for threads in found.setting.threads
    ]


def pools(found: Found) -> list[Cell]:
    """c: TensorFlow's two pools; 0 leaves their size to TensorFlow."""
    cores, few = found.setting.cores, found.setting.quick
    where = places.place(1, cores, cores)
    inters = sorted({0, 1, cores} if few else {0, 1, cores, 2 * cores})
    intras = found.setting.threads if few else (0, *found.setting.threads)
    return [
        Cell(
            f"inter_op {inter}, intra_op {intra}",
            base(found),
            places.with_variables(where, {INTER: str(inter), INTRA: str(intra)}).as_json(),
            {f"env.{INTER}": inter, f"env.{INTRA}": intra},
        )
        for inter in inters
        for intra in intras
    ]


def ranks_threads(found: Found) -> list[Cell]:
    """d: ranks and threads of each; the quick setting leaves out what has more than two threads for a core."""
    setting = found.setting
    return [
        Cell(
            f"{ranks} x {threads}",
            base(found, ranks),
            places.place(ranks, threads, setting.cores).as_json(),
            {"ranks": ranks, "threads": threads},
        )
        for ranks in setting.ranks
        for threads in setting.threads
        if not setting.quick or ranks * threads <= 2 * setting.cores
    ]


def left_out(found: Found) -> list[tuple[int, int]]:
    """Ranks and threads that the quick setting doesn't try."""
    setting = found.setting
    every = {(ranks, threads) for ranks in setting.ranks for threads in setting.threads}
    return sorted(every - {(cell.point["ranks"], cell.point["threads"]) for cell in found.cells("d")})


def memory(found: Found) -> list[Cell]:
    """e: three ways to ask the classifier, often enough for memory that isn't given back to add up."""
    where = places.place(1, found.setting.cores, found.setting.cores).as_json()
    iterations = 60 if found.setting.quick else 300
    return [
        Cell(
            name,
            base(found, iterations=iterations, evaluate_every=1, evaluate_images=2 * EVALUATED, inference=name),
            where,
            {"inference": name},
        )
        for name in INFERENCES
    ]


def spread_out(found: Found) -> Placement:
    """The fastest placement with two ranks or more: settings of MPIs matter to ranks that exchange something."""
    one = found.best("d", lambda one: one.placement["ranks"] > 1)
    if one is not None:
        return Placement.parse(one.placement)
    cores = found.setting.cores
    ranks = max(ranks for ranks in found.setting.ranks if ranks <= max(cores, 2))
    return places.place(ranks, max(cores // ranks, 1), cores)


def settings(found: Found) -> list[Cell]:
    """f: six sets of settings, on the fastest placement of d that has several ranks."""
    where = spread_out(found)
    return [
        Cell(name, base(found, where.ranks), places.with_set(where, name).as_json(), {"settings": name})
        for name in SETS
    ]


def mpis(found: Found) -> list[Cell]:
    """g: the same exchange over each MPI; those that aren't there say how to have them."""
    where = spread_out(found)
    return [
        Cell(
            MPI_NAMES[name],
            base(found, where.ranks, exchange="mpi"),
            where.model_copy(update={"mpi": name}).as_json(),
            {"mpi": name},
            ""
            if name in found.setting.mpis
            else f"{MPI_NAMES[name]} isn't installed here; to have it beside the others: workshop mpi install {name}.",
        )
        for name in MPI_NAMES
    ]


def evaluation(found: Found) -> list[Cell]:
    """h: the article's evaluation and the mended one, on more and more ranks, each of which brings a batch of its own:
    all ranks together read as many images, in the fewer iterations the more they are."""
    setting = found.setting
    several = [ranks for ranks in setting.ranks if ranks <= max(setting.cores, 2)]
    if max(several) > EIGHT:
        several = [1, EIGHT // 2, EIGHT]
    iterations = max(setting.params["iterations"], 15) * 3 // 2
    each = max(setting.params["batch"] // max(several), 1)
    found_cells = []
    for when, how in ((BEFORE, FAULT), (AFTER, MENDED)):
        for ranks in several:
            params = base(
                found,
                batch=each,
                iterations=max(iterations * max(several) // ranks, 1),
                evaluate_every=15,
                evaluate_images=MANY,
                inference="predict",  # as in the article's program, and slow enough to be seen
                **how,
            )
            where = places.place(ranks, max(setting.cores // ranks, 1), setting.cores)
            found_cells.append(Cell(f"{when}, {ranks}", params, where.as_json(), {"evaluation": when, "ranks": ranks}))
    return found_cells


def cheapest_inference(found: Found) -> str:
    """The way to ask the classifier that took the least time for its evaluations."""
    told = {}
    for one in found.results("e"):
        if (run := found.run(one)) is not None and (seconds := evaluating(run)):
            told[one.point["inference"]] = seconds
    return min(told, key=lambda name: told[name]) if told else "compiled"


def stages(found: Found) -> list[Cell]:
    """i: what each step gave, one on top of the other, from the naive start on. What made no difference beyond chance
    isn't taken along; everything is measured anew."""
    cores = found.setting.cores
    where = places.naive(cores)
    how: dict[str, Any] = {"evaluate_every": 15, "evaluate_images": MANY, "inference": "predict", **FAULT}
    made = [_stage(found, NAIVE, "", where, how)]

    def add(step: str, name: str, placement: Placement, changed: Mapping[str, Any] = {}) -> None:
        nonlocal where, how
        if placement != where or any(how.get(param) != value for param, value in changed.items()):
            where, how = placement, {**how, **changed}
            made.append(_stage(found, name, step, where, how))

    if cores > 1:
        add("a", "all cores", places.place(1, cores, cores))
    now = at(found, "a", cores=cores)
    threads = found.best("c")
    if threads is not None and found.beats(threads, now):
        add("c", "thread pools", Placement.parse(threads.placement))
        now = threads
    best = found.best("d")
    if best is not None and (now is None or found.beats(best, now)):
        add("d", "ranks x threads", Placement.parse(best.placement))
    if where.ranks > 1:
        named = found.best("f")
        if named is not None and found.beats(named, at(found, "f", settings=AS_FOUND)):
            add("f", "settings", Placement.parse(named.placement))
        other = found.best("g")
        if other is not None and other.point["mpi"] != "openmpi" and found.beats(other, named or best):
            add("g", MPI_NAMES[other.point["mpi"]], Placement.parse(other.placement), {"exchange": "mpi"})
    add("e", "inference", where, {"inference": cheapest_inference(found)})
    add("h", "evaluation", where, MENDED)
    return made


def _stage(found: Found, name: str, step: str, where: Placement, how: Mapping[str, Any]) -> Cell:
    return Cell(name, base(found, where.ranks, **how), where.as_json(), {"stage": name, "gave": step})


CELLS: Mapping[str, Cells] = {
    "a": start,
    "b": openmp,
    "c": pools,
    "d": ranks_threads,
    "e": memory,
    "f": settings,
    "g": mpis,
    "h": evaluation,
    "i": stages,
}
# How many of a step's cells are repeated: those that were the fastest at first. Every one where all are compared, none
# where what is looked at is within a run.
ALL = 1000
REPEATED: Mapping[str, int] = {"a": 0, "b": ALL, "c": 2, "d": 2, "e": 0, "f": 2, "g": ALL, "h": 0, "i": ALL}
