"""Typical wrong answers of lab 3, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

RATE = "def rate_at(step, rate, size, steps_per_epoch, warmup):\n"
BROADCAST = "%%ranks\ndef broadcast(comm, weights):\n"

MISTAKES = {
    "broadcast": [
        Mistake(
            "calls it on rank 0 only",
            code=BROADCAST
            + "    if comm.rank == 0:\n"
            + "        for array in weights:\n"
            + "            comm.Bcast(array, root=0)\n",
            hint="never ends",
        ),
        Mistake(
            "takes its own rank as root",
            code=BROADCAST + "    for array in weights:\n        comm.Bcast(array, root=comm.rank)\n",
            hint="with the same root",
        ),
        Mistake(
            "throws away what came", code=BROADCAST + "    comm.bcast(weights, root=0)\n", hint="not written into them"
        ),
        Mistake(
            "gives a name to what came", code=BROADCAST + "    weights = comm.bcast(weights)\n", hint="not written into"
        ),
        Mistake(
            "returns new arrays", code=BROADCAST + "    return comm.bcast(weights, root=0)\n", hint="Fill them in place"
        ),
        Mistake(
            "replaces what is in the list",
            code=BROADCAST + "    weights[:] = comm.bcast(weights, root=0)\n",
            hint="Fill them in place",
        ),
        Mistake(
            "averages",
            code=BROADCAST + "    for array in weights:\n" + "        array[...] = comm.allreduce(array) / comm.size\n",
            hint="the mean of all ranks' weights",
        ),
        Mistake("sends the first only", code=BROADCAST + "    comm.Bcast(weights[0], root=0)\n", hint="more than one"),
        Mistake(
            "sends those of rank 1",
            code=BROADCAST + "    for array in weights:\n        comm.Bcast(array, root=1)\n",
            hint="the root should be rank 0",
        ),
    ],
    "rate_at": [
        Mistake("does not scale", code=RATE + "    return rate\n", hint="multiply it by the number of ranks"),
        Mistake("divides by the ranks", code=RATE + "    return rate / size\n", hint="divided are the steps"),
        Mistake("has no warm-up", code=RATE + "    return rate * size\n", hint="from step 0 on"),
        Mistake(
            "grows from zero",
            code=RATE + "    return rate * size * min(step / steps_per_epoch / max(warmup, 1e-9), 1)\n",
            hint="not from zero",
        ),
        Mistake(
            "grows for ever",
            code=RATE + "    return rate + rate * (size - 1) * step / steps_per_epoch / (warmup or 1)\n",
            hint="goes on growing",
        ),
        Mistake(
            "counts the warm-up in steps",
            code=RATE + "    return rate + rate * (size - 1) * min(step / max(warmup, 1e-9), 1)\n",
            hint="warmup counts epochs",
        ),
        Mistake(
            "jumps with the epochs",
            code=RATE
            + "    epoch = step // steps_per_epoch\n"
            + "    return rate * size if epoch >= warmup else rate + rate * (size - 1) * epoch / warmup\n",
            hint="grow with every step",
        ),
        Mistake(
            "divides by a warm-up of zero",
            code=RATE + "    return rate + rate * (size - 1) * min(step / steps_per_epoch / warmup, 1)\n",
            hint="ZeroDivisionError",
        ),
        Mistake(
            "takes the square root",
            code=RATE
            + "    full, passed = rate * size**0.5, step / steps_per_epoch\n"
            + "    return full if passed >= warmup else rate + (full - rate) * passed / warmup\n",
            hint="square root rule",
        ),
    ],
}
