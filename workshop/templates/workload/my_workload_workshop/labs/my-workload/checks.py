"""The checks of this lab: each tries the learner's function, and tells a mistake by what comes out."""

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import confirmed, is_empty, rehearsed, worlds

HITS, THROWN = (7, 3, 8, 1, 9), (10, 5, 10, 2, 12)  # by rank; no two ranks throw alike


@exercise("estimate", ranks=True)
def estimate(comm, given):
    """First on made-up ranks, where nothing waits for ever, then on the real ones."""
    for size in worlds(comm):
        darts = [(HITS[rank % 5], THROWN[rank % 5]) for rank in range(size)]
        answers = rehearsed(given, darts).results
        if all(map(is_empty, answers)):
            raise Hint("Nothing is there yet: add up the hits of all ranks, and the darts of all ranks.")
        if answers[0] is not None and any(answer is None for answer in answers[1:]):
            raise Hint("Only rank 0 has the estimate; every rank should know it.")
        right, shares = 4 * sum(h for h, _ in darts) / sum(t for _, t in darts), [4 * h / t for h, t in darts]
        for answer, share in zip(answers, shares, strict=True):
            if not isinstance(answer, int | float):
                raise Hint(f"Your estimate returns {answer!r}; it should return a number.")
            if abs(answer - right) > 1e-9:
                raise Hint(_why(answer, right, share, shares))
    confirmed(comm, given, (3, 4), lambda answer: abs(answer - 3) < 1e-9)


def _why(answer, right, share, shares):
    if abs(answer - share) < 1e-9:
        return "Each rank has the estimate of its own darts only; the counts of all ranks belong together."
    if abs(answer - sum(shares)) < 1e-9:
        return "The estimates of all ranks were added up; add up hits and darts first, and divide once."
    if abs(answer - sum(shares) / len(shares)) < 1e-9:
        return "This is the mean of the ranks' estimates; a rank with few darts counts as much as one with many."
    if abs(answer - right / 4) < 1e-9:
        return "This is the share of hits; the circle's quarter has the area pi / 4."
    return f"{answer:g} comes out where {right:g} is right; look again what is added up, and what is divided."
