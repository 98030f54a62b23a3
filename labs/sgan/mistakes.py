"""Wrong answers that people give to the exercises on tuning, and a piece of the hint that each gets."""

from workshop.course.exercise_checks import Mistake

_LARGEST = """def largest_part(profile):
    name = max(profile, key=profile.get)
    seconds = sum(profile.values())
    share = profile[name] / seconds
"""
_LOADER = """import numpy as np


def batches(pictures, decode, epochs, batch, draws):
"""

MISTAKES = {
    "largest_part": [
        Mistake(
            "takes the first part",
            code="""def largest_part(profile):
    name = next(iter(profile))
    share = profile[name] / sum(profile.values())
    return name, share, 1 / (1 - share)
""",
            hint="most seconds",
        ),
        Mistake(
            "gives seconds",
            code=_LARGEST + "    return name, profile[name], 1 / (1 - share)\n",
            hint="number of seconds",
        ),
        Mistake(
            "gives per cent", code=_LARGEST + "    return name, 100 * share, 1 / (1 - share)\n", hint="in per cent"
        ),
        Mistake(
            "compares with the rest",
            code=_LARGEST + "    return name, profile[name] / (seconds - profile[name]), 1 / (1 - share)\n",
            hint="compares the part with the others",
        ),
        Mistake(
            "has the limit of the rest",
            code=_LARGEST + "    return name, share, 1 / share\n",
            hint="only the largest part",
        ),
        Mistake(
            "gives the time that is left",
            code=_LARGEST + "    return name, share, 1 - share\n",
            hint="rest of the time",
        ),
    ],
    "starved": [
        Mistake(
            "counts cores only",
            code="""def starved(ranks, threads):
    return [rank["rank"] for rank in ranks if len(rank["cores"]) < threads]
""",
            hint="shares a core",
        ),
        Mistake(
            "looks for shared cores only",
            code="""def starved(ranks, threads):
    return [
        mine["rank"] for mine in ranks
        if any(
            mine is not rank and mine["host"] == rank["host"] and set(mine["cores"]) & set(rank["cores"])
            for rank in ranks
        )
    ]
""",
            hint="fewer cores than its 2 threads",
        ),
        Mistake(
            "forgets the hosts",
            code="""def starved(ranks, threads):
    lacking = []
    for mine in ranks:
        shared = any(mine is not rank and set(mine["cores"]) & set(rank["cores"]) for rank in ranks)
        if shared or len(mine["cores"]) < threads:
            lacking.append(mine["rank"])
    return lacking
""",
            hint="different hosts",
        ),
        Mistake(
            "compares a rank with itself",
            code="""def starved(ranks, threads):
    return [
        mine["rank"] for mine in ranks
        if len(mine["cores"]) < threads
        or any(mine["host"] == rank["host"] and set(mine["cores"]) & set(rank["cores"]) for rank in ranks)
    ]
""",
            hint="has what it needs",
        ),
        Mistake(
            "says whether, not which",
            code="""def starved(ranks, threads):
    return any(len(rank["cores"]) < threads for rank in ranks)
""",
            hint="list of ranks",
        ),
    ],
    "share_out": [
        Mistake(
            "gives each rank all threads",
            code="""def share_out(cores, batch):
    return [(ranks, cores, batch // ranks) for ranks in range(1, cores + 1) if batch % ranks == 0]
""",
            hint="more threads than cores",
        ),
        Mistake(
            "gives each rank the whole batch",
            code="""def share_out(cores, batch):
    return [(ranks, cores // ranks, batch) for ranks in range(1, cores + 1) if batch % ranks == 0]
""",
            hint="share the batch",
        ),
        Mistake(
            "rounds the images",
            code="""def share_out(cores, batch):
    return [(ranks, cores // ranks, batch // ranks) for ranks in range(1, cores + 1)]
""",
            hint="can't divide",
        ),
        Mistake(
            "knows divisors of the cores alone",
            code="""def share_out(cores, batch):
    numbers = [ranks for ranks in range(1, cores + 1) if cores % ranks == 0 and batch % ranks == 0]
    return [(ranks, cores // ranks, batch // ranks) for ranks in numbers]
""",
            hint="needn't divide the cores",
        ),
        Mistake(
            "one thread for every rank",
            code="""def share_out(cores, batch):
    return [(ranks, 1, batch // ranks) for ranks in range(1, cores + 1) if batch % ranks == 0]
""",
            hint="leave cores idle",
        ),
    ],
    "batches": [
        Mistake(
            "is the slow loader",
            code=_LOADER
            + """    for _ in range(epochs):
        order = draws.permutation(len(pictures))
        for begin in range(0, len(pictures), batch):
            yield np.stack([decode(pictures[place]) for place in order[begin : begin + batch]])
""",
            hint="decoded once",
        ),
        Mistake(
            "freezes the order",
            code=_LOADER
            + """    decoded = np.stack([decode(picture) for picture in pictures])
    order = draws.permutation(len(decoded))
    for _ in range(epochs):
        for begin in range(0, len(decoded), batch):
            yield decoded[order[begin : begin + batch]]
""",
            hint="same order",
        ),
        Mistake(
            "drops the last batch",
            code=_LOADER
            + """    decoded = np.stack([decode(picture) for picture in pictures])
    for _ in range(epochs):
        order = draws.permutation(len(decoded))
        for begin in range(0, len(decoded) - batch + 1, batch):
            yield decoded[order[begin : begin + batch]]
""",
            hint="last batch is smaller",
        ),
        Mistake(
            "draws with repeats",
            code=_LOADER
            + """    decoded = np.stack([decode(picture) for picture in pictures])
    for _ in range(epochs):
        order = draws.integers(0, len(decoded), len(decoded))
        for begin in range(0, len(decoded), batch):
            yield decoded[order[begin : begin + batch]]
""",
            hint="every picture once",
        ),
        Mistake(
            "yields single pictures",
            code=_LOADER
            + """    decoded = np.stack([decode(picture) for picture in pictures])
    for _ in range(epochs):
        for place in draws.permutation(len(decoded)):
            yield decoded[place]
""",
            hint="[images, pixels]",
        ),
    ],
    "evaluate_now": [
        Mistake(
            "counts the images of all ranks",
            code="""def evaluate_now(iteration, iterations, every, ranks):
    return iteration * ranks % every < ranks or iteration == iterations
""",
            hint="should change nothing",
        ),
        Mistake(
            "forgets the end",
            code="""def evaluate_now(iteration, iterations, every, ranks):
    return iteration % every == 0
""",
            hint="ends without an evaluation",
        ),
        Mistake(
            "counts from 0",
            code="""def evaluate_now(iteration, iterations, every, ranks):
    return (iteration - 1) % every == 0 or iteration == iterations
""",
            hint="first iteration",
        ),
        Mistake(
            "divides by the ranks",
            code="""def evaluate_now(iteration, iterations, every, ranks):
    return iteration % max(every // ranks, 1) == 0 or iteration == iterations
""",
            hint="should change nothing",
        ),
    ],
}
