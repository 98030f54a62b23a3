"""Typical wrong answers of lab 2, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

SIZES = "def batch_sizes(images, rank, size, batch):\n"
AVERAGE = "%%ranks\nimport numpy as np\nfrom mpi4py import MPI\n\n\ndef average(comm, gradients, samples):\n"

MISTAKES = {
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
        Mistake(
            "sends each array by itself",
            code=AVERAGE
            + "    total = comm.allreduce(samples)\n"
            + "    return [comm.allreduce(gradient * np.float32(samples)) / total for gradient in gradients]\n",
            hint="in 4 messages",
        ),
        Mistake(
            "sends float64",
            code=AVERAGE
            + "    packed = np.concatenate([gradient.ravel() for gradient in gradients] + [[1.0]]) * samples\n"
            + "    comm.Allreduce(MPI.IN_PLACE, packed, op=MPI.SUM)\n"
            + "    ends = np.cumsum([gradient.size for gradient in gradients])\n"
            + "    parts = np.split(packed[:-1] / packed[-1], ends[:-1])\n"
            + "    return [part.reshape(gradient.shape) for part, gradient in zip(parts, gradients)]\n",
            hint="116 are enough",
        ),
        Mistake("exchanges nothing", code=AVERAGE + "    return gradients\n", hint="nothing was exchanged"),
    ],
}
