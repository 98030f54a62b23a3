"""Checks of lab 1: each tries the learner's function on several inputs, and tells a mistake by what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.simulated_ranks import Rehearsal
from workshop.course.trials import call, called, confirmed, is_empty, rehearsed, worlds

NAMES = ("sums", "counts", "inertia")


# Exercise 1: partial sums


@exercise(
    "partial",
    ranks=True,
    hint=(
        "Compute all squared distances as an array (n, k) first. `argmin` along axis 1 gives the labels, "
        "`np.bincount` with `minlength=k` the counts, and `np.add.at` adds points into sums (k, features)."
    ),
    reason=(
        "Distances come from one matrix product. `minlength` keeps a place for labels without points, and "
        "`np.add.at` adds every point, also where a label occurs more than once."
    ),
)
def partial(comm: Any, given: Any) -> None:
    """On each rank by itself, with points of its own."""
    for points, centroids in _clouds(comm.Get_rank()):
        _partial(given, points, centroids)


def _clouds(rank: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points and centroids: by hand, random, with empty clusters in the middle and at the end, and without points."""
    random = np.random.default_rng([20, rank])
    line = np.array([[0.0], [1.0], [4.0], [5.0], [9.0]]) + rank
    points, centroids = random.random((300, 3)), random.random((5, 3))
    far = centroids.copy()
    far[2] = far[4] = 7.0
    far[4] += 1
    return [(line, np.array([[0.0], [5.0]]) + rank), (points, centroids), (points, far), (points[:0], centroids)]


def _partial(given: Any, points: np.ndarray, centroids: np.ndarray) -> None:
    mine, theirs = points.copy(), centroids.copy()
    what = f"With {len(points)} points and {len(centroids)} centroids"
    answer = called("partial", given, mine, theirs)
    found = _three(answer, "partial")
    if not (np.array_equal(mine, points) and np.array_equal(theirs, centroids)):
        raise Hint("partial has changed the points or the centroids that it was given; work on new arrays.")
    right = _oracle(points, centroids)
    _shapes(found, right, what)
    squared = np.square(points[:, None] - centroids).sum(axis=2)
    sums, counts, inertia = found["sums"], found["counts"], float(found["inertia"])
    _judge_counts(counts, right["counts"], squared, what)
    if not _close(sums, right["sums"]):
        _judge_sums(sums, right, points, squared, what)
    if not _close(inertia, right["inertia"]):
        _judge_inertia(inertia, right["inertia"], squared, what)


def _oracle(points: np.ndarray, centroids: np.ndarray) -> dict[str, Any]:
    """The same, point by point."""
    sums, counts, inertia = np.zeros(centroids.shape), np.zeros(len(centroids)), 0.0
    for point in points:
        squared = np.square(point - centroids).sum(axis=1)
        label = int(squared.argmin())
        sums[label] += point
        counts[label] += 1
        inertia += float(squared[label])
    return {"sums": sums, "counts": counts, "inertia": inertia}


def _judge_counts(counts: np.ndarray, right: np.ndarray, squared: np.ndarray, what: str) -> None:
    if _close(counts, right):
        return
    clusters = len(right)
    if _close(counts, np.bincount(squared.argmax(axis=1), minlength=clusters)):
        raise Hint(f"{what}, every point has the label of the centroid that is farthest from it.")
    if _close(counts, right > 0):
        raise Hint(
            f"{what}, no count is above 1; `counts[labels] += 1` adds once for each label, however often it comes up."
        )
    if not _close(counts.sum(), right.sum()):
        raise Hint(
            f"{what}, your counts add up to {counts.sum():g}; each point needs one label, so look for the smallest "
            "distance among the centroids, point by point."
        )
    raise Hint(f"{what}, the counts should be {_numbers(right)}; yours are {_numbers(counts)}.")


def _judge_sums(sums: np.ndarray, right: Mapping[str, Any], points: np.ndarray, squared: np.ndarray, what: str) -> None:
    counts = right["counts"]
    full = counts > 0
    if _close(sums[full], right["sums"][full] / counts[full, None]):
        raise Hint(f"{what}, your sums are means already; ranks can add up sums, but not means.")
    if not full.all() and _close(sums[full], right["sums"][full]):
        raise Hint(f"{what}, the sums of clusters without points should be 0.")
    last = np.zeros_like(right["sums"])
    last[squared.argmin(axis=1)] += points
    if _close(sums, last):
        raise Hint(
            f"{what}, each cluster has a single point in its sum; `sums[labels] += points` adds once for each label, "
            "however often it comes up."
        )
    raise Hint(f"{what}, the counts are right and the sums are not; do they add up the points of each label?")


def _judge_inertia(inertia: float, right: float, squared: np.ndarray, what: str) -> None:
    if _close(inertia, np.sqrt(squared.min(axis=1)).sum()):
        raise Hint(f"{what}, your inertia adds up distances; it should add up their squares.")
    if len(squared) and _close(inertia, right / len(squared)):
        raise Hint(f"{what}, your inertia is a mean; like the sums it should be a sum, so that ranks can add it up.")
    if _close(inertia, squared.sum()):
        raise Hint(f"{what}, your inertia has the distances to all centroids; only the nearest of each point counts.")
    raise Hint(f"{what}, sums and counts are right, and the inertia should be {right:.6g}; yours is {inertia:.6g}.")


# Exercise 2: one message


@exercise(
    "fused",
    ranks=True,
    hint=(
        "Make one array: `np.concatenate([sums.ravel(), counts, [inertia]])` in float64. After one "
        "all-reduce, cut it at the same places, and reshape the sums."
    ),
    reason=(
        "One message carries all numbers, so the ranks wait for each other once. The order of the parts is "
        "the same on every rank, so every rank can take it apart."
    ),
)
def fused(comm: Any, given: Any) -> None:
    """With what each rank would have counted."""
    for number, (clusters, features, most) in enumerate(((4, 3, 1000), (1, 2, 10), (5, 1, 2**30))):
        for size in worlds(comm):
            parts = [_part(number, rank, clusters, features, most) for rank in range(size)]
            found = rehearsed(given, [[np.copy(part[name])[()] for name in NAMES] for part in parts])
            _joined(found, parts)
    parts = [_part(3, rank, 4, 3, 1000) for rank in range(comm.Get_size())]
    mine = [np.copy(parts[comm.Get_rank()][name])[()] for name in NAMES]
    confirmed(comm, given, mine, lambda answer: _is_right(_three(answer, "fused"), _total(parts)))


def _part(number: int, rank: int, clusters: int, features: int, most: int) -> dict[str, Any]:
    """What a rank has: counts are whole numbers, as np.bincount gives them."""
    random = np.random.default_rng([number, rank])
    counts = random.integers(most // 2, most, clusters) | 1  # odd: float32 rounds the large ones
    return {"sums": random.random((clusters, features)) * 100, "counts": counts, "inertia": 1000 * random.random()}


def _total(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: sum(part[name] for part in parts) for name in NAMES}


def _is_right(found: Mapping[str, np.ndarray], right: Mapping[str, Any]) -> bool:
    return all(
        found[name].shape == np.shape(right[name]) and np.allclose(found[name], right[name], rtol=1e-12, atol=0)
        for name in NAMES
    )


def _joined(found: Rehearsal, parts: Sequence[Mapping[str, Any]]) -> None:
    """Whether all ranks have the sums over all ranks, from one message. Raises Hint."""
    size, right = len(parts), _total(parts)
    if all(map(is_empty, found.results)):
        raise Hint("Nothing is there yet: put the three into one array, all-reduce it, and take it apart again.")
    kinds = []
    for answer, mine in zip(found.results, parts, strict=True):
        if isinstance(answer, tuple | list) and len(answer) == len(NAMES) * size:
            raise Hint(
                f"fused returned {len(answer)} things: adding up tuples makes a longer tuple, not sums; put the "
                "numbers into one array first."
            )
        kinds.append("nothing" if is_empty(answer) else _kind(_three(answer, "fused"), mine, right, size))
    if kinds[0] == "right" and all(kind in ("own", "nothing") for kind in kinds[1:]):
        raise Hint("Only rank 0 has the sums of all ranks; every rank needs them, to move its centroids.")
    if "own" in kinds:
        raise Hint("Each rank gets back what it has brought itself; nothing has been added up over the ranks.")
    if "nothing" in kinds:
        raise Hint(f"Rank {kinds.index('nothing')} returns nothing; every rank needs the result.")
    if len(found.calls[0]) != 1:
        raise Hint(
            f"The numbers are right, in {len(found.calls[0])} collectives; put everything into one array, so that it "
            "is one all-reduce."
        )


def _kind(found: Mapping[str, np.ndarray], mine: Mapping[str, Any], right: Mapping[str, Any], size: int) -> str:
    """Whether this rank has the sums of all ranks ("right") or only its "own". Raises Hint where it is neither."""
    clusters = len(right["counts"])
    if found["counts"].shape == (clusters + 1,):
        raise Hint(f"There are {clusters} counts, and you return {clusters + 1}: the inertia is still among them.")
    _shapes(found, {name: np.asarray(right[name]) for name in NAMES}, "Over all ranks")
    if _is_right(found, right):
        return "right"
    if all(_close(found[name], mine[name]) for name in NAMES):
        return "own"
    if all(_close(found[name], right[name] / size) for name in NAMES):
        raise Hint(f"All numbers are {size} times too small: the ranks' parts are to be added up, not averaged.")
    if all(np.allclose(found[name], right[name], rtol=1e-5) for name in NAMES):
        raise Hint("The numbers are nearly right, but rounded on the way; the array that travels should be float64.")
    if _close(np.sort(found["sums"], axis=None), np.sort(right["sums"], axis=None)):
        raise Hint(
            "The sums have the right numbers in other places; lay them out and take them back in the same order."
        )
    if all(
        _close(found[name], np.floor(right[name])) or _close(found[name], right[name]) for name in ("sums", "counts")
    ):
        raise Hint("The sums have lost what is behind the point; the array that travels should be float64.")
    wrong = [name for name in NAMES if not _close(found[name], right[name])]
    raise Hint(f"Not the sum over all ranks: {' and '.join(wrong)}; look at where each part begins in your array.")


# What checks have in common


def _close(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=1e-7, atol=1e-9))


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _three(answer: Any, name: str) -> dict[str, np.ndarray]:
    """Sums, counts and inertia as arrays of numbers."""
    try:
        values = list(answer) if isinstance(answer, tuple | list) else []
        arrays = [np.asarray(value, float) for value in values]
    except (TypeError, ValueError):
        raise Hint(f"{name} returned something else than numbers; return sums, counts and inertia.") from None
    if len(arrays) != 3:
        many = len(arrays) if arrays else f"a {type(answer).__name__}"
        raise Hint(f"{name} returned {many}; it should be three things: sums, counts and inertia.")
    return dict(zip(NAMES, arrays, strict=True))


def _shapes(found: Mapping[str, np.ndarray], right: Mapping[str, Any], what: str) -> None:
    clusters, features = right["sums"].shape
    sums, counts, inertia = (found[name] for name in NAMES)
    if inertia.ndim:
        raise Hint(f"{what}, the inertia has the shape {inertia.shape}; it should be a single number.")
    for name, array in (("counts", counts), ("sums", sums)):
        if array.ndim == right[name].ndim and len(array) < clusters and array.shape[1:] == right[name].shape[1:]:
            raise Hint(f"{what}, there are only {len(array)} {name}; labels that no point has need a place as well.")
    if sums.shape == (features, clusters) != (clusters, features):
        raise Hint(f"{what}, the sums have the shape {sums.shape}; a row should be a cluster, a column a feature.")
    for name, array in (("sums", sums), ("counts", counts)):
        if array.shape != right[name].shape:
            raise Hint(f"{what}, the {name} have the shape {array.shape}; it should be {right[name].shape}.")


# Exercise 3: shards


@exercise(
    "shard",
    hint=(
        "`divmod(count, size)` gives the size of a small share, and how many ranks have one more. The first "
        "ranks take the larger shares: how many of these are before yours?"
    ),
    reason=(
        "The first `more` ranks have one thing more. Before a rank there are `rank` shares of `each`, and "
        "`min(rank, more)` extra things."
    ),
)
def shard(given: Any) -> None:
    """Blocks that follow each other, cover everything and differ by one at most; which ones are longer is free."""
    for count, size in ((12, 3), (10, 3), (11, 4), (9, 2), (273_280, 3), (7, 1), (3, 5), (0, 2)):
        _blocks(count, size, [_shard(given, count, size, rank) for rank in range(size)])


def _shard(given: Any, count: int, size: int, rank: int) -> tuple[int, int]:
    answer, made = called("shard", given, count, size, rank), call("shard", count, size, rank)
    try:
        begin, end = answer
    except (TypeError, ValueError):
        raise Hint(f"{made} is {answer!r}; it should be two numbers, begin and end.") from None
    for number in (begin, end):
        if isinstance(number, float | np.floating):
            raise Hint(f"{made} is {answer!r}; begin and end should be whole numbers, so divide with //, not with /.")
        if not isinstance(number, int | np.integer):
            raise Hint(f"{made} is {answer!r}; begin and end should be whole numbers.")
    return int(begin), int(end)


def _blocks(count: int, size: int, blocks: Sequence[tuple[int, int]]) -> None:
    what = f"With {count} things on {size} {'rank' if size == 1 else 'ranks'}"
    sizes = [end - begin for begin, end in blocks]
    if size > 1 and count >= size and len(set(blocks)) == 1:
        raise Hint(
            f"{what}, all ranks have the same block, {blocks[0][0]} to {blocks[0][1]}; where does the rank come in?"
        )
    if blocks[0][0] != 0:
        raise Hint(f"{what}, rank 0 begins at {blocks[0][0]}; things and ranks are both counted from 0.")
    if min(sizes) < 0:
        rank = int(np.argmin(sizes))
        raise Hint(f"{what}, rank {rank} ends at {blocks[rank][1]}, before it begins at {blocks[rank][0]}.")
    for rank in range(size - 1):
        end, begin = blocks[rank][1], blocks[rank + 1][0]
        if begin == end + 1:
            raise Hint(
                f"{what}, rank {rank} ends at {end} and rank {rank + 1} begins at {begin}; the end isn't part of a "
                f"block, so nobody owns number {end}."
            )
        if begin > end:
            raise Hint(
                f"{what}, nobody owns the numbers from {end} to {begin - 1}, between ranks {rank} and {rank + 1}."
            )
        if begin < end:
            raise Hint(
                f"{what}, ranks {rank} and {rank + 1} both own number {begin}; a longer block moves all that follow."
            )
    last = blocks[-1][1]
    if last < count:
        raise Hint(
            f"{what}, the last block ends at {last}; what is left over from the division, the remainder, needs an "
            "owner, too."
        )
    if last > count:
        raise Hint(f"{what}, the last block ends at {last}, where there is nothing any more.")
    if max(sizes) - min(sizes) > 1:
        raise Hint(
            f"{what}, the blocks have {', '.join(map(str, sizes))} things; they may differ by one at most, so deal "
            "what is left over out to several ranks."
        )
