"""Run by mpirun: stripes and experts on all ranks against one process; prints the largest relative differences."""

from __future__ import annotations

import json

import numpy as np
from mpi4py import MPI

from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.cuts import spatial
from workshop.workloads.parallel.cuts.experts import Experts
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw, Sequential, cross_entropy

DRAW = Draw(2)


def difference(own, whole) -> float:
    return float(np.abs(own - whole).max() / np.abs(whole).max())


def stripes(comm: CountingCommunicator) -> float:
    stream = np.random.default_rng(3)
    images, labels = stream.standard_normal((4, 8, 5, 2)), stream.integers(0, 3, 4)
    networks_of = [Sequential(networks.convolutional([2, 4, 6], 3, DRAW)) for _ in range(2)]
    whole = networks_of[0]
    scores, saved = whole.forward(images)
    _, gradient = cross_entropy(scores, labels, 4)
    whole.backward(gradient, saved)
    cut = Sequential(spatial.cut(networks_of[1].layers, comm))
    own_scores, own_saved = cut.forward(spatial.stripe(images, comm))
    _, own_gradient = cross_entropy(own_scores, labels, 4)
    cut.backward(own_gradient, own_saved)
    for parameter in spatial.partial(cut.layers):
        parameter.gradient[...] = comm.all_reduce(parameter.gradient)
    pairs = zip(cut.parameters, whole.parameters, strict=True)
    return max(difference(own_scores, scores), *(difference(own.gradient, all_of.gradient) for own, all_of in pairs))


def experts(comm: CountingCommunicator) -> tuple[float, int]:
    width, count, tokens = 6, 4, 12
    stream = np.random.default_rng(4)
    inputs, upstream = stream.standard_normal((2, comm.size, 1, tokens, width))

    def layer(own: range, on: CountingCommunicator) -> Experts:
        router = networks.linear(DRAW, "router", width, count)
        feed = [networks.linear(DRAW, f"expert{number}", width, width) for number in own]
        return Experts(router, feed, count, tokens, on)

    share = count // comm.size
    mine = range(comm.rank * share, (comm.rank + 1) * share)
    own = layer(mine, comm)
    outputs, saved = own.forward(inputs[comm.rank])
    of_inputs = own.backward(upstream[comm.rank], saved)
    alone = CountingCommunicator(MPI.COMM_SELF)
    worst = 0.0
    gradients = {f"expert{number}.weight": np.zeros((width, width)) for number in range(count)}
    for rank in range(comm.size):
        single = layer(range(count), alone)
        wanted, single_saved = single.forward(inputs[rank])
        of_wanted = single.backward(upstream[rank], single_saved)
        for parameter in single.parameters:
            if parameter.name in gradients:
                gradients[parameter.name] += parameter.gradient
        if rank == comm.rank:
            worst = max(worst, difference(outputs, wanted), difference(of_inputs, of_wanted))
    for parameter in own.parameters:
        if parameter.name in gradients and np.abs(gradients[parameter.name]).max() > 0:
            worst = max(worst, difference(parameter.gradient, gradients[parameter.name]))
    return worst, comm.calls["all-to-all"]


def main() -> None:
    comm = CountingCommunicator(MPI.COMM_WORLD)
    answers = comm.comm.gather((stripes(comm), *experts(comm)))
    if comm.rank == 0:
        print(
            json.dumps(
                {
                    "stripes": max(a for a, _, _ in answers),
                    "experts": max(b for _, b, _ in answers),
                    "calls": answers[0][2],
                }
            )
        )


main()
