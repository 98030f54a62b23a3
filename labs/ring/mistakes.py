"""Typical wrong answers of lab 9, and the hint of each."""

from workshop.course.exercise_checks import Mistake

HEAD = "%%ranks\nimport numpy as np\ndef ring_allreduce(comm, values):\n"
NAMES = "    rank, size = comm.Get_rank(), comm.Get_size()\n    right, left = (rank + 1) % size, (rank - 1) % size\n"
SPLIT = "    chunks = np.array_split(values, size)\n"
REDUCE = (
    "    for step in range(size - 1):\n"
    "        chunk = chunks[(rank - step - 1) % size]\n"
    "        arrived = np.empty_like(chunk)\n"
    "        comm.Sendrecv(chunks[(rank - step) % size], dest=right, recvbuf=arrived, source=left)\n"
    "        chunk += arrived\n"
)
GATHER = (
    "    for step in range(size - 1):\n"
    "        sent, received = chunks[(rank - step + 1) % size], chunks[(rank - step) % size]\n"
    "        comm.Sendrecv(sent, dest=right, recvbuf=received, source=left)\n"
)
SECONDS = "import math\ndef allreduce_seconds(algorithm, ranks, size, alpha, beta):\n"
RING = "    if algorithm == 'ring':\n        return 2 * (ranks - 1) * (alpha + beta * size / ranks)\n"
TREE = "    if algorithm == 'tree':\n        return 2 * math.ceil(math.log2(ranks)) * (alpha + beta * size)\n"
SERVER = "    return 2 * (ranks - 1) * (alpha + beta * size)\n"
BUCKETS = "def buckets(sizes, limit):\n"


def _ring(split: str = SPLIT, reduce: str = REDUCE, gather: str = GATHER, end: str = "") -> str:
    return HEAD + NAMES + split + reduce + gather + end


MISTAKES = {
    "ring_allreduce": [
        Mistake(
            "calls the all-reduce of MPI", code=HEAD + "    comm.Allreduce(values.copy(), values)\n", hint="Allreduce"
        ),
        Mistake("ends after the reduce-scatter", code=_ring(gather=""), hint="the reduce-scatter is right: each chunk"),
        Mistake("adds in the all-gather", code=_ring(gather=REDUCE), hint="replaces the chunk"),
        Mistake(
            "replaces in the reduce-scatter",
            code=_ring(reduce=REDUCE.replace("chunk += arrived", "chunk[:] = arrived")),
            hint="what arrives is added to your chunk",
        ),
        Mistake(
            "makes new arrays",
            code=_ring(reduce=REDUCE.replace("chunk += arrived", "chunk = chunk + arrived"), gather=""),
            hint="makes a new array",
        ),
        Mistake(
            "begins the all-gather with its own number",
            code=_ring(gather=GATHER.replace("(rank - step)", "(rank - step - 1)").replace("step + 1", "step")),
            hint="just completed",
        ),
        Mistake(
            "always sends its own chunk",
            code=_ring(reduce=REDUCE.replace("(rank - step) % size", "rank").replace("rank - step - 1", "rank - 1")),
            hint="that it received in the step before",
        ),
        Mistake("divides by the ranks", code=_ring(end="    values /= size\n"), hint="don't divide"),
        Mistake(
            "forgets the remainder",
            code=_ring(
                split="    length = len(values) // size\n"
                "    chunks = [values[k * length : (k + 1) * length] for k in range(size)]\n"
            ),
            hint="in no chunk",
        ),
        Mistake(
            "has a buffer for short chunks",
            code=_ring(reduce=REDUCE.replace("np.empty_like(chunk)", "np.empty(len(values) // size, values.dtype)")),
            hint="chunks may differ in length",
        ),
        Mistake(
            "has a buffer of another type",
            code=_ring(reduce=REDUCE.replace("np.empty_like(chunk)", "np.empty(len(chunk))")),
            hint="dtype of values",
        ),
        Mistake(
            "receives from the right",
            code=_ring(reduce=REDUCE.replace("source=left", "source=right")),
            hint="receive from the left",
        ),
        Mistake(
            "has no remainder",
            code=_ring().replace("(rank + 1) % size, (", "rank + 1, (", 1),
            hint="Take the remainder",
        ),
        Mistake(
            "sends and receives the same memory",
            code=_ring(reduce=REDUCE.replace("recvbuf=arrived", "recvbuf=chunks[(rank - step) % size]")),
            hint="share memory",
        ),
        Mistake(
            "sends the array in each step",
            code=HEAD
            + NAMES
            + "    passed, total = values.copy(), values.copy()\n    arrived = np.empty_like(values)\n"
            "    for step in range(size - 1):\n"
            "        comm.Sendrecv(passed, dest=right, recvbuf=arrived, source=left)\n"
            "        total += arrived\n        passed[:] = arrived\n    values[:] = total\n",
            hint="Send one chunk in a step",
        ),
        Mistake(
            "only rank 0 sends",
            code=HEAD + NAMES + SPLIT + "    if rank == 0:\n        arrived = np.empty_like(chunks[1])\n"
            "        comm.Sendrecv(chunks[0], dest=right, recvbuf=arrived, source=left)\n",
            hint="no condition on the rank",
        ),
        Mistake(
            "takes a step too many", code=_ring(gather=GATHER.replace("size - 1", "size")), hint="messages in place of"
        ),
        Mistake(
            "works on a copy",
            code=_ring(split="    values = values.copy()\n" + SPLIT, end="    return values\n"),
            hint="Write into `values` itself",
        ),
        Mistake(
            "takes small letters",
            code=_ring(reduce="    chunks[0] = comm.sendrecv(chunks[0], dest=right, source=left)\n"),
            hint="small letters",
        ),
    ],
    "allreduce_seconds": [
        Mistake(
            "counts one half of the ring",
            code=SECONDS + RING.replace("2 * (", "(") + TREE + SERVER,
            hint="a reduce-scatter and an all-gather",
        ),
        Mistake(
            "sends all bytes in each step",
            code=SECONDS + RING.replace(" / ranks", "") + TREE + SERVER,
            hint="one chunk",
        ),
        Mistake(
            "divides the latency, too",
            code=SECONDS
            + RING.replace("(alpha + beta * size / ranks)", "(alpha + beta * size) / ranks")
            + TREE
            + SERVER,
            hint="has a full latency",
        ),
        Mistake(
            "takes n steps a half",
            code=SECONDS + RING.replace("(ranks - 1)", "ranks") + TREE + SERVER,
            hint="one step earlier",
        ),
        Mistake(
            "has a limit in place of the factor",
            code=SECONDS
            + "    if algorithm == 'ring':\n        return 2 * (ranks - 1) * alpha + 2 * beta * size\n"
            + TREE
            + SERVER,
            hint="only the limit",
        ),
        Mistake(
            "forgets that rank 0 of the server has one link",
            code=SECONDS + RING + TREE + "    return 2 * (ranks - 1) * alpha + 2 * beta * size\n",
            hint="over the link of rank 0",
        ),
        Mistake(
            "goes only up the tree", code=SECONDS + RING + TREE.replace("2 * ", "", 1) + SERVER, hint="comes down again"
        ),
        Mistake(
            "takes the natural logarithm",
            code=SECONDS + RING + TREE.replace("math.ceil(math.log2(ranks))", "math.log(ranks)") + SERVER,
            hint="take math.log2",
        ),
        Mistake(
            "does not round",
            code=SECONDS + RING + TREE.replace("math.ceil(math.log2(ranks))", "math.log2(ranks)") + SERVER,
            hint="Round it up",
        ),
        Mistake("has a tree as a server", code=SECONDS + RING + SERVER, hint="several ranks send at once"),
        Mistake(
            "cuts the array of the tree",
            code=SECONDS + RING + TREE.replace("beta * size", "beta * size / ranks") + SERVER,
            hint="only the ring cuts",
        ),
        Mistake(
            "forgets the way back from the server",
            code=SECONDS + RING + TREE + SERVER.replace("2 * ", ""),
            hint="then sends",
        ),
        Mistake(
            "lets the workers send at once",
            code=SECONDS + RING + TREE + "    return 2 * (alpha + beta * size)\n",
            hint="and there are 14",
        ),
        Mistake("returns nothing for the server", code=SECONDS + RING + TREE, hint="returns nothing"),
    ],
    "buckets": [
        Mistake(
            "puts all into one", code=BUCKETS + "    return [list(range(len(sizes)))]\n", hint="larger than the limit"
        ),
        Mistake(
            "puts each into its own", code=BUCKETS + "    return [[k] for k in range(len(sizes))]\n", hint="are enough"
        ),
        Mistake(
            "leaves out the last bucket",
            code=BUCKETS + "    filled, bucket, total = [], [], 0\n    for k, size in enumerate(sizes):\n"
            "        if bucket and total + size > limit:\n            filled.append(bucket)\n"
            "            bucket, total = [], 0\n"
            "        bucket.append(k)\n        total += size\n    return filled\n",
            hint="Append the last bucket",
        ),
        Mistake(
            "sorts by size",
            code=BUCKETS + "    filled, total = [], 0\n"
            "    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):\n"
            "        if not filled or total + sizes[k] > limit:\n            filled.append([])\n            total = 0\n"
            "        filled[-1].append(k)\n        total += sizes[k]\n    return filled\n",
            hint="changes the order",
        ),
        Mistake(
            "collects sizes",
            code=BUCKETS + "    filled, total = [], 0\n    for size in sizes:\n"
            "        if not filled or total + size > limit:\n            filled.append([])\n            total = 0\n"
            "        filled[-1].append(size)\n        total += size\n    return filled\n",
            hint="numbers of the tensors",
        ),
        Mistake(
            "begins with an empty bucket",
            code=BUCKETS + "    filled, total = [[]], 0\n    for k, size in enumerate(sizes):\n"
            "        if total + size > limit:\n            filled.append([])\n            total = 0\n"
            "        filled[-1].append(k)\n        total += size\n    return filled\n",
            hint="empty bucket",
        ),
        Mistake(
            "closes a bucket that is just full",
            code=BUCKETS + "    filled, total = [], 0\n    for k, size in enumerate(sizes):\n"
            "        if not filled or total + size >= limit:\n            filled.append([])\n            total = 0\n"
            "        filled[-1].append(k)\n        total += size\n    return filled\n",
            hint="full limit is allowed",
        ),
    ],
}
