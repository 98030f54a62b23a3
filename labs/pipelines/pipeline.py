"""Train a network whose layers are divided over the ranks: a pipeline of stages with micro-batches.

    mpirun -n 2 python labs/pipelines/pipeline.py                      two stages, 1F1B and GPipe
    mpirun -n 2 python labs/pipelines/pipeline.py --micro-batches 2    a larger bubble
    mpirun -n 2 python labs/pipelines/pipeline.py --pace 0             as fast as the cores can
    python labs/pipelines/pipeline.py                                  one stage: one process has all layers

Read it from top to bottom. Every rank is one stage: it has its own layers, and follows its own list of instructions.
"""

import argparse
import os
import sys
import time

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}
os.environ |= dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")  # one core for each stage

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--micro-batches", type=int, default=4, help="parts of each batch (default: %(default)s)")
parser.add_argument("--steps", type=int, default=5, help="updates of the weights (default: %(default)s)")
parser.add_argument("--width", type=int, default=128, help="inputs and outputs of a layer (default: %(default)s)")
parser.add_argument(
    "--pace",
    type=float,
    default=0.02,
    help="least seconds of a forward computation; backward takes twice as long (default: %(default)s)",
)
options = parser.parse_args()
if not 1 <= options.micro_batches <= 64:
    parser.error("--micro-batches should be from 1 to 64")
if not 1 <= options.steps <= 1000:
    parser.error("--steps should be from 1 to 1000")
if not 1 <= options.width <= 2048:
    parser.error("--width should be from 1 to 2048")
if not 0 <= options.pace <= 1:
    parser.error("--pace should be from 0 to 1")

comm = MPI.COMM_WORLD
stage, stages = comm.Get_rank(), comm.Get_size()
micro_batches, width = options.micro_batches, options.width
EXAMPLES, LAYERS, RATE = 64, 4, 0.1  # examples of a micro-batch, layers of a stage, learning rate


# 1. The data and the weights. All ranks draw the same numbers, so that one process can repeat the training.
stream = np.random.default_rng(1)
inputs = stream.standard_normal((micro_batches, EXAMPLES, width))
targets = stream.standard_normal((micro_batches, EXAMPLES, width))
all_weights = stream.standard_normal((stages * LAYERS, width, width)) / np.sqrt(width)


# 2. The work of a stage. Forward holds the inputs of each layer (the activations) until backward needs them.
def forward(weights, values):
    """The outputs of some layers, and the activations."""
    activations = []
    for matrix in weights:
        outputs = np.tanh(values @ matrix)
        activations.append((values, outputs))
        values = outputs
    return values, activations


def backward(weights, gradients, activations, gradient):
    """Add the gradients of the weights; return the gradient of the inputs."""
    for number in reversed(range(len(weights))):
        values, outputs = activations[number]
        gradient = gradient * (1 - outputs**2)
        gradients[number] += values.T @ gradient
        gradient = gradient @ weights[number].T
    return gradient


# 3. The schedules: a list of instructions for each stage, such as F0 F1 B0 B1.
def gpipe(stage):
    """All forward computations, then all backward computations."""
    return [(kind, micro) for kind in "FB" for micro in range(micro_batches)]


def one_forward_one_backward(stage):
    """Some forward computations to fill the pipeline, then one forward and one backward in turn."""
    warm_up = min(stages - stage - 1, micro_batches)
    instructions = [("F", micro) for micro in range(warm_up)]
    for micro in range(micro_batches):
        if warm_up + micro < micro_batches:
            instructions.append(("F", warm_up + micro))
        instructions.append(("B", micro))
    return instructions


# 4. One step of a stage. A message is sent without waiting (Isend), and a receive waits until the message is there.
def step(instructions, weights):
    """The gradients of this stage, its seconds of work, and the most micro-batches whose activations it held."""
    gradients, under_way, requests = np.zeros_like(weights), {}, []
    work, most = 0.0, 0
    for kind, micro in instructions:
        if kind == "F":
            values = inputs[micro] if stage == 0 else receive(stage - 1, micro)
            began = time.perf_counter()
            outputs, under_way[micro] = forward(weights, values)
            work += finish(began, options.pace)
            most = max(most, len(under_way))
            if stage + 1 < stages:
                requests.append(comm.Isend(outputs, stage + 1, tag=micro))
        else:
            last = stage + 1 == stages
            gradient = loss_gradient(under_way[micro][-1][1], micro) if last else receive(stage + 1, micro)
            began = time.perf_counter()
            gradient = backward(weights, gradients, under_way.pop(micro), gradient)
            work += finish(began, 2 * options.pace)
            if stage > 0:
                requests.append(comm.Isend(gradient, stage - 1, tag=micro))
    MPI.Request.Waitall(requests)  # each request keeps its array alive until it has been sent
    return gradients, work, most


def finish(began, least):
    """Sleep until work has taken `least` seconds: asleep, a stage needs no core. Returns the seconds of the work."""
    time.sleep(max(0.0, began + least - time.perf_counter()))
    return time.perf_counter() - began


def receive(source, micro):
    """The array of a micro-batch from another stage. Here a stage waits: this is the bubble."""
    values = np.empty((EXAMPLES, width))
    comm.Recv(values, source, tag=micro)
    return values


def loss_gradient(outputs, micro):
    """The gradient of half the mean square error over all micro-batches."""
    return (outputs - targets[micro]) / (micro_batches * EXAMPLES)


def train(schedule):
    """Train this stage's layers. Returns the weights, the measured bubble and the activations held by each stage."""
    weights = all_weights[stage * LAYERS : (stage + 1) * LAYERS].copy()
    instructions, idle = schedule(stage), []
    for _ in range(options.steps):
        comm.Barrier()
        began = time.perf_counter()
        gradients, work, most = step(instructions, weights)
        seconds = comm.allreduce(time.perf_counter() - began, op=MPI.MAX)  # of the slowest stage
        idle.append(1 - comm.allreduce(work) / (stages * seconds))
        weights -= RATE * gradients
    return weights, float(np.median(idle)), comm.gather(most)


# 5. One process with all layers: what the weights should be.
def train_alone():
    weights = all_weights.copy()
    for _ in range(options.steps):
        gradients = np.zeros_like(weights)
        for micro in range(micro_batches):
            outputs, activations = forward(weights, inputs[micro])
            backward(weights, gradients, activations, loss_gradient(outputs, micro))
        weights -= RATE * gradients
    return weights


expected = train_alone() if stage == 0 else None
formula = (stages - 1) / (micro_batches + stages - 1)
wrong = False
for name, schedule in (("GPipe", gpipe), ("1F1B", one_forward_one_backward)):
    weights, idle, most = train(schedule)
    parts = comm.gather(weights)
    if stage == 0:
        difference = np.abs(np.concatenate(parts) - expected).max()
        wrong |= not difference < 1e-10
        print(
            f"{name:5}  stages: {stages}, micro-batches: {micro_batches}, bubble: {idle:.1%} measured, {formula:.1%} "
            f"by the formula, micro-batches held by each stage: {most}"
        )
        print(f"       largest difference of a weight from one process: {difference:.1e}", flush=True)
if comm.bcast(wrong):
    if stage == 0:
        print("The weights are not those of one process.", file=sys.stderr, flush=True)
    sys.exit(1)
