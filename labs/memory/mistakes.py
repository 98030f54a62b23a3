"""Typical wrong answers of lab 10, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

BYTES = "def bytes_of_rank(parameters, ranks, stage, precision):\n"
SHARE = BYTES + "    share = -(-parameters // ranks)\n"
EACH = '    each = (4, 4, 8) if precision == "float32" else (2, 2, 12)\n'
COUNTS = (
    "    counts = (share if stage >= 3 else parameters, share if stage >= 2 else parameters, "
    "share if stage >= 1 else parameters)\n"
)
PRODUCTS = "    return tuple(a * b for a, b in zip(each, counts))\n"

MLP = "%%ranks\nimport numpy as np\ndef mlp_forward(comm, x, a, a_bias, b, b_bias):\n"
BLOCK = (
    MLP
    + "    width = len(b) // comm.size\n"
    + "    block = slice(comm.rank * width, (comm.rank + 1) * width)\n"
    + "    partial = np.maximum(x @ a[:, block] + a_bias[block], 0) @ b[block]\n"
)
MOST = "def most_outputs(layers, segments):\n"

MISTAKES = {
    "bytes_of_rank": [
        Mistake(
            "has mixed precision only",
            code=SHARE + "    each = (2, 2, 12)\n" + COUNTS + PRODUCTS,
            hint="Those are the bytes in mixed precision",
        ),
        Mistake(
            "forgets the copy of the weights",
            code=SHARE + '    each = (4, 4, 8) if precision == "float32" else (2, 2, 8)\n' + COUNTS + PRODUCTS,
            hint="also keeps the weights in float32",
        ),
        Mistake(
            "has one number of Adam",
            code=SHARE + '    each = (4, 4, 4) if precision == "float32" else (2, 2, 12)\n' + COUNTS + PRODUCTS,
            hint="two numbers for each weight",
        ),
        Mistake(
            "adds everything up",
            code=SHARE + EACH + COUNTS + "    return sum(a * b for a, b in zip(each, counts))\n",
            hint="Return the three parts",
        ),
        Mistake(
            "divides all from stage 1 on",
            code=SHARE + EACH + "    counts = [share if stage else parameters] * 3\n" + PRODUCTS,
            hint="ZeRO 1 doesn't divide the weights",
        ),
        Mistake(
            "divides the weights before the gradients",
            code=SHARE
            + EACH
            + "    counts = (share if stage >= 2 else parameters, share if stage >= 3 else parameters, "
            + "share if stage >= 1 else parameters)\n"
            + PRODUCTS,
            hint="ZeRO 2 doesn't divide the weights",
        ),
        Mistake(
            "divides in stage 2 alone what stage 2 adds",
            code=SHARE
            + EACH
            + "    counts = (share if stage == 3 else parameters, share if stage == 2 else parameters, "
            + "share if stage == 1 else parameters)\n"
            + PRODUCTS,
            hint="ZeRO 2 divides the Adam state",
        ),
        Mistake(
            "rounds down",
            code=BYTES + "    share = parameters // ranks\n" + EACH + COUNTS + PRODUCTS,
            hint="round the share up",
        ),
        Mistake(
            "counts values", code=SHARE + COUNTS + "    return counts\n", hint="multiply it by the bytes of each value"
        ),
    ],
    "mlp_forward": [
        Mistake("adds nothing up", code=BLOCK + "    return partial + b_bias\n", hint="add up the products"),
        Mistake(
            "adds the bias on each rank",
            code=BLOCK + "    return comm.allreduce(partial + b_bias)\n",
            hint="Add it once, after the all-reduce",
        ),
        Mistake(
            "averages", code=BLOCK + "    return comm.allreduce(partial) / comm.size + b_bias\n", hint="not averaged"
        ),
        Mistake(
            "leaves the bias out", code=BLOCK + "    return comm.allreduce(partial)\n", hint="`b_bias`, is missing"
        ),
        Mistake(
            "cuts rows first",
            code=MLP
            + "    block = np.array_split(np.arange(len(a)), comm.size)[comm.rank]\n"
            + "    partial = np.maximum(x[:, block] @ a[block] + a_bias, 0) @ b\n"
            + "    return comm.allreduce(partial) + b_bias\n",
            hint="You cut the rows of `a` first",
        ),
        Mistake(
            "computes all of it",
            code=MLP + "    return np.maximum(x @ a + a_bias, 0) @ b + b_bias\n",
            hint="each rank computed all of the layer",
        ),
        Mistake(
            "computes all of it and averages",
            code=MLP + "    return comm.allreduce(np.maximum(x @ a + a_bias, 0) @ b) / comm.size + b_bias\n",
            hint="outside of its block",
        ),
        Mistake(
            "adds up all of it",
            code=MLP + "    return comm.allreduce(np.maximum(x @ a + a_bias, 0) @ b) + b_bias\n",
            hint="computed the full product before the sum",
        ),
        Mistake(
            "gives the sum to one rank",
            code=BLOCK
            + "    total = comm.reduce(partial)\n"
            + "    return total + b_bias if comm.rank == 0 else None\n",
            hint="Only rank 0 has the outputs",
        ),
        Mistake(
            "has block 0 everywhere",
            code=BLOCK.replace("comm.rank * width, (comm.rank + 1) * width", "0, width")
            + "    return comm.allreduce(partial) + b_bias\n",
            hint="should depend on the rank",
        ),
        Mistake(
            "adds the outputs up on rank 0 only",
            code=BLOCK + "    if comm.rank == 0:\n        return comm.allreduce(partial) + b_bias\n",
            hint="never ends",
        ),
        Mistake(
            "forgets to cut the first bias",
            code=BLOCK.replace("a_bias[block]", "a_bias") + "    return comm.allreduce(partial) + b_bias\n",
            hint="ValueError",
        ),
        Mistake(
            "has no ReLU",
            code=BLOCK.replace("np.maximum(x @ a[:, block] + a_bias[block], 0)", "(x @ a[:, block] + a_bias[block])")
            + "    return comm.allreduce(partial) + b_bias\n",
            hint="ReLU is missing",
        ),
    ],
    "most_outputs": [
        Mistake("forgets the inputs", code=MOST + "    return -(-layers // segments)\n", hint="stay in memory, too"),
        Mistake("forgets the segment", code=MOST + "    return segments\n", hint="room for its outputs"),
        Mistake(
            "rounds down", code=MOST + "    return segments + layers // segments\n", hint="count the longest segment"
        ),
        Mistake("counts all layers", code=MOST + "    return segments + layers\n", hint="only one segment at a time"),
        Mistake("multiplies", code=MOST + "    return segments * layers\n", hint="add the two parts"),
        Mistake("has the smallest", code=MOST + "    return 2 * layers**0.5\n", hint="with these segments"),
    ],
}
