"""Typical wrong answers of lab 8, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

RIGHT = {
    "A": "a slow rank",
    "B": "no shards",
    "C": "steps not divided",
    "D": "more threads than cores",
    "E": "mismatched collectives",
    "F": "out of memory",
}
ACCURACY = "%%ranks\ndef accuracy(comm, right, images):\n"


def causes(**other: str) -> str:
    """The exercise's cell with other answers than the right ones."""
    return f"cause = {RIGHT | other!r}\n"


def placement(**changed: object) -> str:
    """The exercise's cell with some fields changed."""
    crowded = {
        "ranks": 8,
        "threads": 4,
        "map_by": "package",
        "cores_per_rank": 1,
        "bind_to": "none",
        "oversubscribe": True,
    }
    return f"mended = {crowded | changed!r}\n"


MISTAKES = {
    "cause": [
        Mistake("blames the network", code=causes(A="a slow network"), hint="Who comes last?"),
        Mistake("takes shards for steps", code=causes(B="steps not divided"), hint="of them are different?"),
        Mistake("takes steps for shards", code=causes(C="no shards"), hint="only of how many steps"),
        Mistake("sees ranks in place of threads", code=causes(D="two ranks on one core"), hint="last column"),
        Mistake("takes a deadlock for slowness", code=causes(E="a slow rank"), hint="wait for each other"),
        Mistake("takes a signal for an exception", code=causes(F="an exception"), hint="leaves a traceback"),
        Mistake("makes up a cause", code=causes(F="bad luck"), hint="none of CAUSES"),
        Mistake(
            "has done half of it", code="cause = {'A': 'a slow rank', 'B': 'no shards'}\n", hint="C, D, E, F are still"
        ),
    ],
    "accuracy": [
        Mistake(
            "still leaves early",
            code=ACCURACY
            + "    if images == 0:\n"
            + "        return 0.0\n"
            + "    return comm.allreduce(right) / comm.allreduce(images)\n",
            hint="rank 1 has returned",
        ),
        Mistake(
            "still reduces on rank 0 alone",
            code=ACCURACY
            + "    right = comm.allreduce(right)\n"
            + "    if comm.rank == 0:\n"
            + "        images = comm.allreduce(images)\n"
            + "    return right / images if images else 0.0\n",
            hint="never ends",
        ),
        Mistake(
            "calls them in another order",
            code=ACCURACY
            + "    if comm.rank == 0:\n"
            + "        images = comm.allreduce(images)\n"
            + "        right = comm.bcast(right)\n"
            + "    else:\n"
            + "        right = comm.bcast(right)\n"
            + "        images = comm.allreduce(images)\n"
            + "    return right / images\n",
            hint="different collectives",
        ),
        Mistake(
            "takes its own images only",
            code=ACCURACY + "    return right / images if images else 0.0\n",
            hint="share of its own images",
        ),
        Mistake(
            "divides by its own images",
            code=ACCURACY + "    right = comm.allreduce(right)\n    return right / images if images else 0.0\n",
            hint="one rank's own images",
        ),
        Mistake(
            "takes the mean of shares",
            code=ACCURACY + "    return comm.allreduce(right / images if images else 0.0) / comm.size\n",
            hint="Add up both numbers",
        ),
        Mistake(
            "divides by zero",
            code=ACCURACY + "    return comm.allreduce(right) / comm.allreduce(images)\n",
            hint="divided by 0",
        ),
        Mistake(
            "has the result on rank 0 alone",
            code=ACCURACY
            + "    right, images = comm.reduce(right), comm.reduce(images)\n"
            + "    if comm.rank == 0:\n"
            + "        return right / images if images else 0.0\n",
            hint="not rank 0 alone",
        ),
    ],
    "mended": [
        Mistake("binds only", code=placement(bind_to="core"), hint="too many ranks"),
        Mistake("takes threads away", code=placement(threads=1, bind_to="core"), hint="keeps its 4 threads"),
        Mistake("takes one rank", code=placement(ranks=1, cores_per_rank=4, bind_to="core"), hint="idle"),
        Mistake(
            "leaves ranks unbound", code=placement(ranks=2, cores_per_rank=4, oversubscribe=False), hint="two on one"
        ),
        Mistake(
            "leaves a core for each rank",
            code=placement(ranks=2, bind_to="core", oversubscribe=False),
            hint="take turns",
        ),
        Mistake(
            "binds to hardware threads",
            code=placement(ranks=2, bind_to="hwthread", oversubscribe=False),
            hint="how many cores should it own",
        ),
        Mistake(
            "gives a rank all cores",
            code=placement(ranks=2, cores_per_rank=8, bind_to="core", oversubscribe=False),
            hint="fit a socket",
        ),
    ],
}
