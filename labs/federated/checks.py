"""Checks of lab 5: answers are tried on small arrays with a known result; each typical mistake has its sentence."""

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import confirmed, rehearsed, worlds

EMPTY = "Nothing is there yet: put your code in place of `...  # your code` in {}, and return what the text asks for."


def numbers(found, wanted, what):
    """What an answer gave back as an array like `wanted`. Raises Hint."""
    if found is None or found is Ellipsis:
        raise Hint(EMPTY.format(what))
    try:
        found = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise Hint(f"{what} should give back an array of numbers, and gives {type(found).__name__}.") from None
    if found.shape != np.shape(wanted):
        raise Hint(
            f"{what} should give back an array of the shape {np.shape(wanted)}, one number for each weight of the "
            f"model; yours has {found.shape}."
        )
    return found


def close(one, other):
    return np.allclose(one, other, rtol=1e-5, atol=1e-7)


def known(found, wanted, mistakes):
    """Raise the hint of the mistake that comes to the same, if any does; `mistakes` are pairs of result and hint."""
    if close(found, wanted):
        return
    for result, hint in mistakes:
        if close(found, result):
            raise Hint(hint)


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
        found = numbers(given(shared, updates, list(images)), wanted, "fedavg")
        if not close(shared, start) or any(not close(*pair) for pair in zip(updates, moves, strict=True)):
            raise Hint(
                "The numbers are not the point here: your function changes the arrays that it was given, and an "
                "institution may still be training on them. `+=` on an array changes the array itself."
            )
        known(
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
        if not close(found, wanted):
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
        "A sum of weighted updates and a sum of images give the weighted mean, without sending a single "
        "update of an institution. All ranks call all three collectives."
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
    return np.shape(found) == wanted.shape and close(found, wanted)


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
    found = numbers(found, wanted, "aggregate")
    if not close(mine, updates[rank]):
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
    known(found, wanted, mistakes)
    if not close(found, wanted):
        raise Hint(
            f"Rank {rank} should have {np.round(wanted, 3).tolist()} and has {np.round(found, 3).tolist()}; the ranks "
            f"have {images.tolist()} images."
        )


def stream(seed, length):
    return np.random.default_rng(seed).integers(0, 2**64, length, dtype=np.uint64)


@exercise(
    "masked",
    hint=(
        "Multiply by `images` first. Then for each partner add the mask if your number is lower, and subtract"
        " it if your number is higher. Use `np.uint64(images)`."
    ),
    reason=(
        "The masks of a pair are equal and have opposite signs, so they cancel in the sum. A weight after the"
        " mask would multiply the two by different numbers."
    ),
)
def masked(given):
    for institutions, images in ((3, (10, 10, 10)), (3, (5, 40, 3)), (5, (7, 1, 900, 30, 2))):
        draws = np.random.default_rng(institutions)
        words = [draws.integers(-(2**40), 2**40, 6).astype(np.int64).view(np.uint64) for _ in images]
        seeds = [{} for _ in images]
        for one in range(institutions):
            for other in range(one):
                seeds[one][other] = seeds[other][one] = 1000 * institutions + 10 * one + other
        sent = []
        for one, count in enumerate(images):
            before = words[one].copy()
            sent.append(_words(given(before, count, one, dict(seeds[one])), words[one]))
            if not np.array_equal(before, words[one]):
                raise Hint("Your function changes the update that it was given; take a new array for what is sent.")
        _masked(sent, words, images, seeds)


def _words(found, words):
    if found is None or found is Ellipsis:
        raise Hint(EMPTY.format("masked"))
    found = np.asarray(found)
    if found.dtype != np.uint64:
        raise Hint(
            f"What is sent should be whole numbers modulo 2^64, as arrays of uint64 are; yours are {found.dtype}, "
            "which rounds or overflows where masks should cancel to the last bit."
        )
    if found.shape != words.shape:
        raise Hint(f"What is sent should have the shape {words.shape} of the update; yours has {found.shape}.")
    return found


def _masked(sent, words, images, seeds):
    """Raise the hint for what was sent by all institutions."""
    counts = [np.uint64(count) for count in images]
    weighted = [word * count for word, count in zip(words, counts, strict=True)]
    wanted = [_with(word, one, seeds[one]) for one, word in enumerate(weighted)]
    if _same(sent, wanted):
        return
    if _same(sent, weighted) or _same(sent, words):
        raise Hint("No mask is in what you send: the aggregator can read each update. What are the seeds for?")
    if _same(sent, [_with(word, one, seeds[one]) for one, word in enumerate(words)]):
        raise Hint("The masks cancel, but the updates are not weighted: the number of images is not in what you send.")
    if _same(
        sent,
        [_with(word, one, seeds[one]) * count for one, (word, count) in enumerate(zip(words, counts, strict=True))],
    ):
        raise Hint(
            "The masks are multiplied by the number of images, too, by another number at each of a pair, so they don't "
            "cancel where shares are unequal. Which has to come first, weight or mask?"
        )
    if _same(sent, [_with(word, one, seeds[one], always=True) for one, word in enumerate(weighted)]):
        raise Hint(
            "Both institutions of a pair add their mask, so it is in the sum twice. What should the second one do?"
        )
    if _same(sent, [word - _with(word * np.uint64(0), one, seeds[one]) for one, word in enumerate(weighted)]):
        raise Hint(
            "It cancels, but the signs are the other way round: the lower number adds, the higher one takes away."
        )
    total, right = _sum(sent), _sum(weighted)
    if np.array_equal(total, right):
        raise Hint(
            "The masks cancel in the sum, but what single institutions send isn't as agreed on: one mask for each "
            "other institution, from `stream` with the seed of that pair."
        )
    raise Hint(
        f"With {len(images)} institutions something is left in the sum of all that is sent. Take one pair: does one of "
        "them add just the mask that the other one takes away, and is none left out?"
    )


def _with(words, number, seeds, always=False):
    for other, seed in seeds.items():
        mask = stream(seed, len(words))
        words = words + mask if always or number < other else words - mask
    return words


def _sum(arrays):
    return np.sum(arrays, axis=0, dtype=np.uint64)


def _same(some, others):
    return all(np.array_equal(*pair) for pair in zip(some, others, strict=True))


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
            if not close(kept, left):
                raise Hint(
                    f"After {number + 1} updates what was sent and what is left should add up to all updates, and "
                    "don't. What isn't sent has to stay in `left`, and nothing else."
                )


def _sent(found, count, length):
    if found is None or found is Ellipsis:
        raise Hint(EMPTY.format("topk"))
    try:
        places, values, left = found
    except (TypeError, ValueError):
        raise Hint("topk should give back three things: places, values, and what is left.") from None
    places, values = np.asarray(places), np.asarray(values, dtype=np.float64)
    if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer) or ((places < 0) | (places >= length)).any():
        raise Hint(f"Places should be whole numbers from 0 to {length - 1}: where in the update the values stand.")
    if len(set(places.tolist())) != count or len(places) != count or values.shape != (count,):
        raise Hint(f"With count = {count} there should be {count} different places and {count} values.")
    return places, values, numbers(left, np.zeros(length), "topk (what is left)")


def _chosen(update, before, places, values, left, count):
    """The values that are sent, and what is left, of one call."""
    whole = update + before
    best = np.sort(np.abs(whole))[-count:]
    if close(np.sort(np.abs(values)), best) and close(values, whole[places]):
        rest, forgotten = whole.copy(), update.copy()
        rest[places] = forgotten[places] = 0
        mistakes = [
            (forgotten, FORGOTTEN),
            (whole, "What was sent is still in `left`: it will be sent again. Set it to 0 where values have gone out."),
            (np.zeros(len(whole)), "Nothing is left, so small values are lost for ever. Keep what wasn't sent."),
            (before, "`left` is what it was before. It should be what hasn't been sent of update and left together."),
        ]
        if count < len(whole):
            known(left, rest, mistakes)
        return
    if before.any() and close(np.sort(np.abs(values)), np.sort(np.abs(update))[-count:]):
        raise Hint(FORGOTTEN)
    if close(np.sort(values), np.sort(whole)[-count:]):
        raise Hint("Values far below zero are large as well: choose by size, without the sign.")
    if close(np.sort(values), np.sort(np.abs(whole))[-count:]):
        raise Hint("The sizes are right, but the signs are gone: choose by size, and send the values as they are.")
    if close(np.sort(np.abs(values)), np.sort(np.abs(whole))[:count]):
        raise Hint("These are the smallest values; the largest ones should be sent.")
    if not close(values, whole[places]):
        raise Hint(
            "Places and values don't fit each other: the first value should stand at the first place, and so on."
        )
    raise Hint(
        "These are not the largest values of update and left together; sort by size, and look at which end you take."
    )


@exercise(
    "private",
    hint=(
        "Scale each update by `min(1, clip / length)`. Add up the scaled updates, add the noise once, and "
        "divide by their number at the end."
    ),
    reason=(
        "No update can move the sum by more than `clip`, and the noise is measured against that. Noise once "
        "on the sum is enough, and less than noise on every update."
    ),
)
def private(given):
    draws = np.random.default_rng(9)
    updates = [draws.normal(size=5) * length for length in (0.02, 1.0, 30.0)]
    for clip in (1.0, 0.25, 1e6):
        _clipped(given([update.copy() for update in updates], clip, 0.0, np.random.default_rng(1)), updates, clip)
    _noisy(given)


def _clipped(found, updates, clip):
    """Without noise: the mean of clipped updates."""
    norms = [np.linalg.norm(update) for update in updates]
    cut = [update * min(1, clip / norm) for update, norm in zip(updates, norms, strict=True)]
    wanted = np.mean(cut, axis=0)
    found = numbers(found, wanted, "private")
    total = np.sum(updates, axis=0)
    known(
        found,
        wanted,
        [
            (np.mean(updates, axis=0), "Without noise this is the plain mean: nothing is cut, however long it is."),
            (
                np.mean([np.clip(update, -clip, clip) for update in updates], axis=0),
                "Each value is cut by itself, which turns an update. Cut its length: all values by the same factor.",
            ),
            (
                np.mean([update * clip / norm for update, norm in zip(updates, norms, strict=True)], axis=0),
                "Short updates are made longer here. Only those that are longer than clip should change.",
            ),
            (np.sum(cut, axis=0), "This is the sum of the cut updates; the exercise asks for their mean."),
            (
                total * min(1, clip / np.linalg.norm(total)) / len(updates),
                "The sum is cut here. One long update would push out all others: cut each one before it is added.",
            ),
            (
                np.mean(updates, axis=0) * min(1, clip / np.linalg.norm(np.mean(updates, axis=0))),
                "The mean is cut here. One long update would push out all others: cut each one before it is added.",
            ),
        ],
    )
    if not close(found, wanted):
        raise Hint(
            f"Without noise, with clip = {clip:g}, the mean of the cut updates should be "
            f"{np.round(wanted, 4).tolist()}; yours is {np.round(found, 4).tolist()}."
        )


def _noisy(given):
    """How much noise there is, from many values: the deviation is known to a few hundredths."""
    many, length, clip, noise = 9, 20_000, 0.25, 3.0
    updates = [np.full(length, 1e-4) for _ in range(many)]
    found = numbers(given(updates, clip, noise, np.random.default_rng(2)), updates[0], "private")
    rest = found - 1e-4
    spread = float(np.std(rest)) * many / (noise * clip)  # 1 where it is right
    for value, hint in (
        (0.0, "There is no noise in what you give back: after clipping, add noise to the sum."),
        (
            many,
            "The noise is added to the mean, where it weighs more by the number of institutions; add it to the sum.",
        ),
        (many**0.5, "There is noise on each update, which is more than was promised: add it once, to the sum."),
        (1 / clip, "The noise doesn't depend on clip: its standard deviation should be noise times clip."),
        (1 / noise, "The noise doesn't depend on `noise`: its standard deviation should be noise times clip."),
        (1 / (noise * clip), "The noise has a standard deviation of 1: it should be noise times clip."),
    ):
        if abs(spread - value) <= 0.05 * max(value, 0.2):
            raise Hint(hint)
    if abs(spread - 1) > 0.05:
        raise Hint(
            f"The noise in the sum has {spread:.2f} times the standard deviation that it should have, noise times clip."
        )
    if abs(float(np.mean(rest))) > 6 * noise * clip / many / length**0.5:
        raise Hint("The noise doesn't have a mean of 0, so the model would move with it: take normal numbers as drawn.")
    if abs(float(np.corrcoef(found[:-1], found[1:])[0, 1])) > 0.1:
        raise Hint("All values get the same noise, or nearly; draw a number of its own for each of them.")
