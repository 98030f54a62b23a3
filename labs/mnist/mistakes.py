"""Typical wrong answers of lab 2, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

RATE = "def rate_at(step, rate, size, steps_per_epoch, warmup):\n"
SIZES = "def batch_sizes(images, rank, size, batch):\n"
BROADCAST = "%%ranks\ndef broadcast(comm, weights):\n"
AVERAGE = "%%ranks\nimport numpy as np\nfrom mpi4py import MPI\n\n\ndef average(comm, gradients, samples):\n"

MISTAKES = {
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
    "batch_sizes": [
        Mistake(
            "drops the remainder",
            code=SIZES + "    return [batch] * (images // (size * batch))\n",
            hint="read by nobody",
        ),
        Mistake(
            "does not divide",
            code=SIZES + "    return [min(batch, images - first) for first in range(0, images, batch)]\n",
            hint="every rank reads all images",
        ),
        Mistake(
            "takes steps of its own",
            code=SIZES
            + "    mine = images // size + (rank < images % size)\n"
            + "    return [min(batch, mine - first) for first in range(0, mine, batch)]\n",
            hint="wait in the all-reduce for ever",
        ),
        Mistake(
            "fills the last batch",
            code=SIZES + "    return [batch] * -(-images // (size * batch))\n",
            hint="images together",
        ),
        Mistake(
            "goes below zero",
            code=SIZES
            + "    mine = images // size + (rank < images % size)\n"
            + "    steps = -(-(-(-images // size)) // batch) + 1\n"
            + "    return [min(batch, mine - step * batch) for step in range(steps)]\n",
            hint="negative",
        ),
        Mistake(
            "gives the remainder to the last rank",
            code=SIZES
            + "    share = images // size\n"
            + "    mine = share + (images % size if rank == size - 1 else 0)\n"
            + "    steps = -(-(share + images % size) // batch)\n"
            + "    return [max(min(batch, mine - step * batch), 0) for step in range(steps)]\n",
            hint="differ by at most one",
        ),
    ],
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
    "average": [
        Mistake(
            "divides by the ranks",
            code=AVERAGE + "    return [comm.allreduce(gradient) / comm.size for gradient in gradients]\n",
            hint="ranks count alike",
        ),
        Mistake(
            "adds up only",
            code=AVERAGE + "    return [comm.allreduce(gradient) for gradient in gradients]\n",
            hint="the sum of all gradients",
        ),
        Mistake(
            "weights, and divides by the ranks",
            code=AVERAGE + "    return [comm.allreduce(gradient * samples) / comm.size for gradient in gradients]\n",
            hint="divided by the number of ranks",
        ),
        Mistake(
            "does not weight",
            code=AVERAGE
            + "    total = comm.allreduce(samples)\n"
            + "    return [comm.allreduce(gradient) / total for gradient in gradients]\n",
            hint="multiply first",
        ),
        Mistake(
            "divides by its own images",
            code=AVERAGE
            + "    return [comm.allreduce(gradient * samples) / max(samples, 1) for gradient in gradients]\n",
            hint="the ranks don't agree",
        ),
        Mistake(
            "leaves out who has nothing",
            code=AVERAGE
            + "    if samples == 0:\n"
            + "        return gradients\n"
            + "    total = comm.allreduce(samples)\n"
            + "    return [comm.allreduce(gradient * samples) / total for gradient in gradients]\n",
            hint="takes part as well",
        ),
        Mistake(
            "reduces the list",
            code=AVERAGE + "    return comm.allreduce(gradients)\n",
            hint="one long list",
        ),
        Mistake(
            "forgets the shapes",
            code=AVERAGE
            + "    packed = np.concatenate([gradient.ravel() for gradient in gradients]) * samples\n"
            + "    return [comm.allreduce(packed) / comm.allreduce(samples)]\n",
            hint="shapes of the gradients",
        ),
        Mistake("exchanges nothing", code=AVERAGE + "    return gradients\n", hint="nothing was exchanged"),
    ],
}
