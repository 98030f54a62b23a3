"""Checks of lab 7: answers are tried on small arrays with a known result; each typical mistake has its sentence."""

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import array_answer, is_close, is_empty, raise_mistake


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
    if is_empty(found):
        raise Hint("Nothing is there yet: masked should return what the institution sends, an array of uint64.")
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
    found = array_answer(found, wanted, "private")
    total = np.sum(updates, axis=0)
    raise_mistake(
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
    if not is_close(found, wanted):
        raise Hint(
            f"Without noise, with clip = {clip:g}, the mean of the cut updates should be "
            f"{np.round(wanted, 4).tolist()}; yours is {np.round(found, 4).tolist()}."
        )


def _noisy(given):
    """How much noise there is, from many values: the deviation is known to a few hundredths."""
    many, length, clip, noise = 9, 20_000, 0.25, 3.0
    updates = [np.full(length, 1e-4) for _ in range(many)]
    found = array_answer(given(updates, clip, noise, np.random.default_rng(2)), updates[0], "private")
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
