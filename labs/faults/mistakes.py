"""Typical wrong answers of lab 13, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

REST = "def divide_rest(order, done, ranks):\n    rest = order[done:]\n"
PLAN = (
    "import math\n"
    "def checkpoint_plan(cost, mtbf):\n"
    "    interval = math.sqrt(2 * cost * mtbf)\n"
    "    lost = cost / interval + interval / (2 * mtbf)\n"
)
MEANS = "%%ranks\ndef step_means(comm, batches):\n    means = []\n"
MOST = "    for step in range(max(comm.allgather(len(batches)))):\n"
OWN = "        batch = batches[step] if step < len(batches) else []\n"

MISTAKES = {
    "divide_rest": [
        Mistake(
            "begins the epoch again",
            code=REST.replace("order[done:]", "order")
            + "    return {rank: rest[place :: len(ranks)] for place, rank in enumerate(ranks)}\n",
            hint="was read before the loss",
        ),
        Mistake(
            "takes a rank's number as its place",
            code=REST + "    return {rank: rest[rank :: len(ranks)] for rank in ranks}\n",
            hint="is read twice",
        ),
        Mistake(
            "divides by the ranks of the start",
            code=REST + "    return {rank: rest[rank :: max(ranks) + 1] for rank in ranks}\n",
            hint="Divide by the number of survivors",
        ),
        Mistake(
            "has new numbers",
            code=REST + "    return {place: rest[place :: len(ranks)] for place in range(len(ranks))}\n",
            hint="use the numbers of the survivors",
        ),
        Mistake(
            "forgets the remainder",
            code=REST
            + "    n = len(rest) // len(ranks)\n"
            + "    return {rank: rest[p * n : (p + 1) * n] for p, rank in enumerate(ranks)}\n",
            hint="The division has a remainder",
        ),
        Mistake(
            "gives the remainder to the last rank",
            code=REST
            + "    n = len(rest) // len(ranks)\n"
            + "    parts = {rank: rest[p * n : (p + 1) * n] for p, rank in enumerate(ranks)}\n"
            + "    parts[ranks[-1]] = rest[(len(ranks) - 1) * n :]\n"
            + "    return parts\n",
            hint="differ by one at most",
        ),
        Mistake(
            "rounds up",
            code=REST
            + "    n = -(-len(rest) // len(ranks))\n"
            + "    return {rank: rest[p * n : (p + 1) * n] for p, rank in enumerate(ranks)}\n",
            hint="differ by one at most",
        ),
        Mistake(
            "returns places",
            code=REST
            + "    places = list(range(done, len(order)))\n"
            + "    return {rank: places[p :: len(ranks)] for p, rank in enumerate(ranks)}\n",
            hint="has places in the order",
        ),
        Mistake(
            "gives all to everybody", code=REST + "    return {rank: rest for rank in ranks}\n", hint="is read twice"
        ),
        Mistake(
            "keeps the lost ranks",
            code=REST
            + "    size = max(ranks) + 1\n"
            + "    return {rank: rest[rank::size] for rank in range(size)}\n",
            hint="which is no survivor",
        ),
        Mistake("returns lists", code=REST + "    return [rest[p :: len(ranks)] for p in range(len(ranks))]\n",
                hint="a dict with a list"),
    ],
    "checkpoint_plan": [
        Mistake("forgets the 2", code=PLAN.replace("2 * cost * mtbf", "cost * mtbf") + "    return interval, lost\n",
                hint="factor 2 is missing"),
        Mistake("has no root", code=PLAN.replace("math.sqrt(2 * cost * mtbf)", "2 * cost * mtbf")
                + "    return interval, lost\n", hint="the root is missing"),
        Mistake("divides by the cost", code=PLAN.replace("cost * mtbf)", "mtbf / cost)", 1)
                + "    return interval, lost\n", hint="written more rarely"),
        Mistake("returns the share first", code=PLAN + "    return lost, interval\n", hint="the interval first"),
        Mistake("returns the interval alone", code=PLAN + "    return interval\n", hint="two numbers"),
        Mistake("counts the checkpoints alone", code=PLAN + "    return interval, cost / interval\n",
                hint="one of the two parts"),
        Mistake("loses a whole interval", code=PLAN + "    return interval, cost / interval + interval / mtbf\n",
                hint="half of an interval"),
        Mistake("has seconds", code=PLAN + "    return interval, cost + interval / 2\n", hint="in seconds"),
        Mistake("has per cent", code=PLAN + "    return interval, 100 * lost\n", hint="not per cent"),
        Mistake("returns the useful share", code=PLAN + "    return interval, 1 - lost\n", hint="the useful share"),
    ],
    "step_means": [
        Mistake(
            "still loops over its own batches",
            code=MEANS
            + "    for batch in batches:\n"
            + "        means.append(comm.allreduce(sum(batch)) / comm.allreduce(len(batch)))\n"
            + "    return means\n",
            hint="the same number of steps",
        ),
        Mistake(
            "takes the fewest steps",
            code=MEANS
            + MOST.replace("max", "min")
            + OWN
            + "        means.append(comm.allreduce(sum(batch)) / comm.allreduce(len(batch)))\n"
            + "    return means\n",
            hint="are left out",
        ),
        Mistake(
            "reads the last batch again",
            code=MEANS
            + MOST
            + "        batch = batches[min(step, len(batches) - 1)] if batches else []\n"
            + "        means.append(comm.allreduce(sum(batch)) / comm.allreduce(len(batch)))\n"
            + "    return means\n",
            hint="reads its last batch again",
        ),
        Mistake(
            "averages the means",
            code=MEANS
            + MOST
            + OWN
            + "        own = sum(batch) / len(batch) if batch else 0.0\n"
            + "        means.append(comm.allreduce(own) / comm.size)\n"
            + "    return means\n",
            hint="the mean of the ranks' means",
        ),
        Mistake(
            "leaves out the division",
            code=MEANS + MOST + OWN + "        means.append(comm.allreduce(sum(batch)))\n    return means\n",
            hint="by their number",
        ),
        Mistake(
            "stops in the middle of a step",
            code=MEANS
            + MOST
            + "        if step >= len(batches):\n"
            + "            break\n"
            + "        batch = batches[step]\n"
            + "        means.append(comm.allreduce(sum(batch)) / comm.allreduce(len(batch)))\n"
            + "    return means\n",
            hint="this never ends",
        ),
    ],
}  # fmt: skip
