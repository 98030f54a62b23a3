"""Divide a layer of two matrices among ranks: columns of the first, rows of the second, one all-reduce each way.

    mpirun -n 2 python labs/memory/mlp.py                two ranks, each with half of both matrices
    mpirun -n 2 python labs/memory/mlp.py --width 512    larger matrices
    python labs/memory/mlp.py                            the same in one process

Read it from top to bottom. The undivided layer runs as well, and the results are compared.
"""

import argparse
import os
import sys

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--width", type=int, default=128, help="numbers of an example (default: %(default)s)")
parser.add_argument("--hidden", type=int, default=480, help="columns of the first matrix (default: %(default)s)")
parser.add_argument("--examples", type=int, default=64, help="examples of the batch (default: %(default)s)")
options = parser.parse_args()
for name in ("width", "hidden", "examples"):
    if not 1 <= getattr(options, name) <= 4096:
        parser.error(f"--{name} should be from 1 to 4096")

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
if options.hidden % size:
    parser.error(f"--hidden should be a multiple of {size}, the number of ranks")
bytes_exchanged = 0


def say(*words):
    """Print once, not once per rank."""
    if rank == 0:
        print(*words, flush=True)


def all_reduce(array):
    """The sum of all ranks' arrays, on all ranks."""
    global bytes_exchanged
    if size == 1:
        return array
    total = np.empty_like(array)
    comm.Allreduce(np.ascontiguousarray(array), total)
    bytes_exchanged += array.nbytes
    return total


# 1. The undivided layer: y = relu(x A + a) B + b. All ranks draw the same numbers from the same seed.
stream = np.random.default_rng(0)
x = stream.standard_normal((options.examples, options.width))
A = stream.standard_normal((options.width, options.hidden)) / options.width**0.5
a = stream.standard_normal(options.hidden)
B = stream.standard_normal((options.hidden, options.width)) / options.hidden**0.5
b = stream.standard_normal(options.width)
y_gradient = stream.standard_normal((options.examples, options.width))  # from the layers behind

hidden = np.maximum(x @ A + a, 0)
y = hidden @ B + b
hidden_gradient = (y_gradient @ B.T) * (hidden > 0)
gradients = {
    "x": hidden_gradient @ A.T,
    "A": x.T @ hidden_gradient,
    "a": hidden_gradient.sum(axis=0),
    "B": hidden.T @ y_gradient,
    "b": y_gradient.sum(axis=0),
}

# 2. My blocks: columns of A with their bias, and the rows of B that belong to these columns.
columns = options.hidden // size
block = slice(rank * columns, (rank + 1) * columns)
my_A, my_a, my_B = A[:, block].copy(), a[block].copy(), B[block].copy()

# 3. Forward: nothing is exchanged between the matrices, and one all-reduce adds up the products. The bias of the rows
# comes after the sum, so it is added once.
my_hidden = np.maximum(x @ my_A + my_a, 0)
my_y = all_reduce(my_hidden @ my_B) + b

# 4. Backward: gradients of my weights need no exchange. The gradient of x has a part on each rank: one all-reduce.
my_hidden_gradient = (y_gradient @ my_B.T) * (my_hidden > 0)
my_gradients = {
    "x": all_reduce(my_hidden_gradient @ my_A.T),
    "A": x.T @ my_hidden_gradient,
    "a": my_hidden_gradient.sum(axis=0),
    "B": my_hidden.T @ y_gradient,
    "b": y_gradient.sum(axis=0),  # the same on all ranks, since they have the same gradient of y
}

# 5. Compare with the undivided layer: my blocks of its gradients.
expected = {
    "x": gradients["x"],
    "A": gradients["A"][:, block],
    "a": gradients["a"][block],
    "B": gradients["B"][block],
    "b": gradients["b"],
}
differences = {"y": float(np.abs(my_y - y).max())}
for name, array in my_gradients.items():
    differences[f"gradient of {name}"] = float(np.abs(array - expected[name]).max())
differences = {name: comm.allreduce(value, op=MPI.MAX) for name, value in differences.items()}

# 6. The memory of each rank: weights and their gradients, and the activations that the backward pass needs.
weights = sum(array.nbytes for array in (my_A, my_a, my_B, b))
activations = x.nbytes + my_hidden.nbytes
memory = comm.gather((2 * weights, activations))

for number, (state, kept_activations) in enumerate(memory or []):
    say(f"rank {number} of {size}: weights and gradients {state:,} bytes, activations {kept_activations:,} bytes")
say(f"undivided: weights and gradients {2 * sum(v.nbytes for v in (A, a, B, b)):,} bytes, "
    f"activations {x.nbytes + hidden.nbytes:,} bytes")  # fmt: skip
say(f"exchanged by each rank: {bytes_exchanged:,} bytes in {2 if size > 1 else 0} all-reduces")

worst = max(differences, key=differences.get)
if differences[worst] > 1e-9:
    if rank == 0:
        print(f"The {worst} is off by {differences[worst]:.1e}, which rounding doesn't explain.", file=sys.stderr)
    sys.exit(1)
say(f"largest difference {differences[worst]:.1e} ({worst}): right")
