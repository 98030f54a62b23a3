"""Wrong answers that people give to the exercises on tuning, and a piece of the hint that each gets."""

from workshop.course.exercise_checks import Mistake

_GROUPS = """from statistics import mean, median


def judge(runs):
    rates = {}
    for setting, rate in runs:
        rates.setdefault(setting, []).append(rate)
    first, second = rates.values()
    apart = min(second) > max(first) or min(first) > max(second)
    sure = apart and min(len(first), len(second)) > 1
"""

MISTAKES = {
    "judge": [
        Mistake("takes means", code=_GROUPS + "    return mean(second) / mean(first), sure\n", hint="of means"),
        Mistake("takes the best", code=_GROUPS + "    return max(second) / max(first), sure\n", hint="matter of luck"),
        Mistake(
            "has it upside down", code=_GROUPS + "    return median(first) / median(second), sure\n", hint="upside down"
        ),
        Mistake(
            "is sure of any difference",
            code=_GROUPS + "    return median(second) / median(first), median(second) != median(first)\n",
            hint="repeats overlap",
        ),
        Mistake(
            "is sure of faster ones alone",
            code=_GROUPS + "    return median(second) / median(first), sure and min(second) > max(first)\n",
            hint="the slower one",
        ),
        Mistake(
            "is sure after one run of each",
            code=_GROUPS + "    return median(second) / median(first), apart\n",
            hint="One run of each",
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
    "waterfall": [
        Mistake(
            "divides the wrong way round",
            code="""def waterfall(stages):
    start = stages[0][1]
    return [(name, seconds / before, start / seconds) for (_, before), (name, seconds) in zip(stages, stages[1:])]
""",
            hint="upside down",
        ),
        Mistake(
            "compares everything with the start",
            code="""def waterfall(stages):
    start = stages[0][1]
    return [(name, start / seconds, start / seconds) for name, seconds in stages[1:]]
""",
            hint="against the start",
        ),
        Mistake(
            "tells seconds",
            code="""def waterfall(stages):
    start = stages[0][1]
    return [(name, before - seconds, start / seconds) for (_, before), (name, seconds) in zip(stages, stages[1:])]
""",
            hint="seconds saved",
        ),
        Mistake(
            "adds gains up",
            code="""def waterfall(stages):
    rows, total = [], 1.0
    for (_, before), (name, seconds) in zip(stages, stages[1:]):
        total += before / seconds - 1
        rows.append((name, before / seconds, total))
    return rows
""",
            hint="gains were added",
        ),
        Mistake(
            "has a row for the start",
            code="""def waterfall(stages):
    rows, before = [], stages[0][1]
    for name, seconds in stages:
        rows.append((name, before / seconds, stages[0][1] / seconds))
        before = seconds
    return rows
""",
            hint="nothing before it",
        ),
    ],
}
