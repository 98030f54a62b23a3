"""Checks of lab 6: answers are tried on small arrays with a known result; each typical mistake has its sentence."""

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import array_answer, confirmed, is_close, is_empty, raise_mistake, rehearsed, worlds

UPDATES = (
    # shared, updates, images
    ([1.0, 2.0, -1.0], [[0.5, 0.0, 1.0], [-1.0, 2.0, 0.0]], [100, 300]),
    ([0.0, 0.5], [[1.0, 2.0], [4.0, -2.0], [-3.0, 8.0]], [10, 20, 50]),
    ([2.0], [[0.25]], [7]),
)


@exercise(
    "fedavg",
    hint=(
        "Sum `count * update` over all institutions, and divide by the sum of the counts. Add the result to "
        "`shared` in a new array, without `+=`."
    ),
    reason=(
        "The weights by images let every image count the same. A new array leaves the old weights to those "
        "who still train on them."
    ),
)
def fedavg(given):
    for start, moves, images in UPDATES:
        shared, updates = np.array(start), [np.array(move) for move in moves]
        total = sum(images)
        moved = sum(count * update for count, update in zip(images, updates, strict=True))
        plain = sum(updates) / len(updates)
        wanted = shared + moved / total
        found = array_answer(given(shared, updates, list(images)), wanted, "fedavg")
        if not is_close(shared, start) or any(not is_close(*pair) for pair in zip(updates, moves, strict=True)):
            raise Hint(
                "The numbers are not the point here: your function changes the arrays that it was given, and an "
                "institution may still be training on them. `+=` on an array changes the array itself."
            )
        raise_mistake(
            found,
            wanted,
            [
                (
                    shared + plain,
                    "Here every institution counts the same; every image should. Where are the images used?",
                ),
                (shared + moved, "This is the weighted sum, which grows with the data. What turns a sum into a mean?"),
                (shared + moved / len(images), "Divide by the number of all images, not by that of the institutions."),
                (moved / total, "This is how far the weights move. The exercise asks where they are afterwards."),
                (
                    shared - moved / total,
                    "The model goes the wrong way: an update says how far training has moved it already.",
                ),
                (plain, "This is the plain mean of the updates: neither the images nor the shared weights are in it."),
            ],
        )
        if not is_close(found, wanted):
            raise Hint(
                f"With the shared weights {start}, updates {moves} and images {images} the new weights should be "
                f"{np.round(wanted, 3).tolist()}; yours are {np.round(found, 3).tolist()}."
            )


@exercise(
    "aggregate",
    ranks=True,
    hint=(
        "Two reduces to rank 0 are enough: one for `images * update`, one for `images`. Rank 0 divides, and "
        "all ranks call one broadcast."
    ),
    reason=(
        "A sum of weighted updates and a sum of images give the weighted mean. The root needs no single update. "
        "All ranks call all three collectives."
    ),
)
def aggregate(comm, given):
    for size in worlds(comm):
        for case in range(2):
            updates, images = _of_ranks(size, case)
            mine = [update.copy() for update in updates]
            found = rehearsed(given, list(zip(mine, images.tolist(), strict=True)))
            for rank, result in enumerate(found.results):
                _aggregated(result, mine[rank], updates, images, rank)
    rank = comm.Get_rank()
    updates, images = _of_ranks(comm.Get_size(), 2)
    wanted = (images[:, None] * updates).sum(axis=0) / images.sum()
    confirmed(comm, given, (updates[rank].copy(), int(images[rank])), lambda found: _fits(found, wanted))


def _fits(found, wanted):
    return np.shape(found) == wanted.shape and is_close(found, wanted)


def _of_ranks(size, case):
    draws = np.random.default_rng(50 + case)
    return draws.normal(size=(size, 4 + case)), 10 * (1 + np.arange(size)[:: -1 if case % 2 else 1])


def _aggregated(found, mine, updates, images, rank):
    moved = (images[:, None] * updates).sum(axis=0)
    wanted, plain = moved / images.sum(), updates.mean(axis=0)
    if found is None and rank:
        raise Hint(
            "Rank 0 may have the mean, but other ranks got None: after a reduce or gather only the root knows the "
            "result. How does it reach the others?"
        )
    found = array_answer(found, wanted, "aggregate")
    if not is_close(mine, updates[rank]):
        raise Hint("Your function changes the update that it was given; take a new array for what you send.")
    mistakes = [
        (plain, "Every rank counts the same here; every image should. The number of images has to travel as well."),
        (moved, "This is the weighted sum. The aggregator has to know how many images all ranks have together."),
        (moved / len(images), "Divide by the number of all images, not by that of the ranks."),
        (updates.sum(axis=0), "This is the plain sum of the updates: neither weighted nor divided."),
    ]
    if len(images) > 1:
        mistakes += [
            (updates[rank], "Each rank got its own update back: nothing of the others has arrived in it."),
            (updates[0], "Everybody has the update of rank 0 now. The root should send the mean of all."),
            (
                images[rank] * updates[rank] / images.sum(),
                "Each rank has its own part of the mean; nobody has added them up.",
            ),
        ]
        mistakes += [
            (moved / images[0], "This divides by the images of rank 0. How many have all of them together?"),
            (moved / images[rank], "This divides by the images of one rank. How many have all of them together?"),
        ]
    raise_mistake(found, wanted, mistakes)
    if not is_close(found, wanted):
        raise Hint(
            f"Rank {rank} should have {np.round(wanted, 3).tolist()} and has {np.round(found, 3).tolist()}; the ranks "
            f"have {images.tolist()} images."
        )


FORGOTTEN = "What was left before isn't looked at: add it to the update first, and choose then."


@exercise(
    "topk",
    hint=(
        "Add `left` to the update first. `np.argsort(-np.abs(values))[:count]` gives the places of the "
        "largest values. Set these places to 0 in a copy: that is the new `left`."
    ),
    reason=(
        "Sent and remaining values add up to the whole update, so nothing is lost. The sign stays with the "
        "value, because only the size decides."
    ),
)
def topk(given):
    draws = np.random.default_rng(4)
    for length, count in ((6, 2), (40, 5), (5, 5)):
        left, kept = np.zeros(length), np.zeros(length)
        for number in range(4):
            update = np.round(draws.normal(size=length), 6)
            update[0] = -3.0 - number  # large, and below zero
            update[1] = 0.4  # never sent at first, but it adds up
            before = left.copy()
            places, values, left = _sent(given(update.copy(), left.copy(), count), count, length)
            _chosen(update, before, places, values, left, count)
            kept += update
            kept[places] -= values
            if not is_close(kept, left):
                raise Hint(
                    f"After {number + 1} updates what was sent and what is left should add up to all updates, and "
                    "don't. What isn't sent has to stay in `left`, and nothing else."
                )


def _sent(found, count, length):
    if is_empty(found):
        raise Hint("Nothing is there yet: topk should return three things: places, values, and what is left.")
    try:
        places, values, left = found
    except (TypeError, ValueError):
        raise Hint("topk should give back three things: places, values, and what is left.") from None
    places, values = np.asarray(places), np.asarray(values, dtype=np.float64)
    if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer) or ((places < 0) | (places >= length)).any():
        raise Hint(f"Places should be whole numbers from 0 to {length - 1}: where in the update the values stand.")
    if len(set(places.tolist())) != count or len(places) != count or values.shape != (count,):
        raise Hint(f"With count = {count} there should be {count} different places and {count} values.")
    return places, values, array_answer(left, np.zeros(length), "topk (what is left)")


def _chosen(update, before, places, values, left, count):
    """The values that are sent, and what is left, of one call."""
    whole = update + before
    best = np.sort(np.abs(whole))[-count:]
    if is_close(np.sort(np.abs(values)), best) and is_close(values, whole[places]):
        rest, forgotten = whole.copy(), update.copy()
        rest[places] = forgotten[places] = 0
        mistakes = [
            (forgotten, FORGOTTEN),
            (whole, "What was sent is still in `left`: it will be sent again. Set it to 0 where values have gone out."),
            (np.zeros(len(whole)), "Nothing is left, so small values are lost for ever. Keep what wasn't sent."),
            (before, "`left` is what it was before. It should be what hasn't been sent of update and left together."),
        ]
        if count < len(whole):
            raise_mistake(left, rest, mistakes)
        return
    if before.any() and is_close(np.sort(np.abs(values)), np.sort(np.abs(update))[-count:]):
        raise Hint(FORGOTTEN)
    if is_close(np.sort(values), np.sort(whole)[-count:]):
        raise Hint("Values far below zero are large as well: choose by size, without the sign.")
    if is_close(np.sort(values), np.sort(np.abs(whole))[-count:]):
        raise Hint("The sizes are right, but the signs are gone: choose by size, and send the values as they are.")
    if is_close(np.sort(np.abs(values)), np.sort(np.abs(whole))[:count]):
        raise Hint("These are the smallest values; the largest ones should be sent.")
    if not is_close(values, whole[places]):
        raise Hint(
            "Places and values don't fit each other: the first value should stand at the first place, and so on."
        )
    raise Hint(
        "These are not the largest values of update and left together; sort by size, and look at which end you take."
    )
