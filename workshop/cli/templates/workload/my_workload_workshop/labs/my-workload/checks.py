"""The checks of this lab: each calls the learner's function, and recognises a mistake by the result."""

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
            if abs(answer - right) > 1e-9:
                raise Hint(_why(answer, right, share, shares))
    confirmed(comm, given, (3, 4), lambda answer: abs(answer - 3) < 1e-9)


def _why(answer, right, share, shares):
    typical = {
        share: "Each rank has the estimate of its own darts only; the counts of all ranks belong together.",
        sum(shares): "The estimates of all ranks were added up; add up hits and darts first, and divide once.",
        sum(shares) / len(shares): "This is the mean of the ranks' estimates; few darts count as much as many there.",
        right / 4: "This is the share of hits; the circle's quarter has the area pi / 4.",
    }
    near = [hint for value, hint in typical.items() if abs(answer - value) < 1e-9]
    return near[0] if near else f"{answer:g} comes out where {right:g} is right; look again at what is divided by what."
