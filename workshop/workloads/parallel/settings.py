"""From params to a training: its network, its cut, the plan of each rank, and the examples: characters of Python's own
help texts, and handwritten digits. Every machine has both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import RankGrid
from workshop.workloads.parallel.cuts.zero import Adam
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Array, Draw, Layer, Shape
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.schedules import parse
from workshop.workloads.parallel.training import Cut, CutTraining

if TYPE_CHECKING:
    from mpi4py import MPI

    from workshop.workloads.parallel import ParallelParams

HELD_OUT = 8  # the last of so many parts of the examples are for evaluation
CLASSES = 10
HELD_OUT_SEED = 2**32  # no step has it
ALONE = Cut(RankGrid())
PIPELINE_MICRO = 4  # micro-batches of a pipeline unless somebody says otherwise


@cache
def text() -> tuple[Array, str]:
    """Python's help on its language as numbers of characters, and the characters in their order."""
    from pydoc_data.topics import topics

    joined = "\n".join(topics[name] for name in sorted(topics))
    characters = "".join(sorted(set(joined)))
    codes = np.array([ord(character) for character in joined])
    return np.searchsorted([ord(character) for character in characters], codes), characters


@cache
def digits(size: int) -> tuple[Array, Array]:
    """Digits [images, size, size, 1] from 0 to 1, and their labels (Alpaydin and Kaynak, UCI 1998, through
    scikit-learn); pixels are repeated where the size is larger than 8."""
    from sklearn.datasets import load_digits

    data = load_digits()
    times = size // 8
    images = np.kron(data.images, np.ones((times, times)))[..., None] / 16
    order = np.random.default_rng(0).permutation(len(images))
    return images[order], data.target[order]


def batch(params: ParallelParams, step: int, held_out: bool = False) -> tuple[Array, Array]:
    """Inputs and targets of a step, the same on all ranks and for any number of ranks."""
    stream = np.random.default_rng([params.seed, HELD_OUT_SEED if held_out else step])
    if params.network == "transformer":
        codes, _ = text()
        border = len(codes) - len(codes) // HELD_OUT
        least, most = (border, len(codes)) if held_out else (0, border)
        begins = stream.integers(least, most - params.length - 1, params.batch)[:, None] + np.arange(params.length)
        return codes[begins], codes[begins + 1]
    images, labels = digits(params.image if params.network == "convolutional" else 8)
    border = len(images) - len(images) // HELD_OUT
    chosen = (
        stream.integers(border, len(images), params.batch) if held_out else stream.integers(0, border, params.batch)
    )
    inputs = images[chosen].astype(params.precision)
    return (inputs if params.network == "convolutional" else inputs.reshape(params.batch, -1)), labels[chosen]


def cut_of(params: ParallelParams, ranks: int) -> Cut:
    """The cut. Raises BadInput where it can't be made for so many ranks."""
    grid = RankGrid.parse(params.cut, ranks)
    if grid.kind == "experts" and grid.layer > 1 and not params.experts:
        raise BadInput(f"The cut {params.cut!r} divides experts, and the network has none; set experts.")
    micro = params.micro_batches or (PIPELINE_MICRO if grid.pipeline > 1 else 1)
    parts = 2 if params.schedule == "interleaved" else 1  # of each stage
    each = params.pace / parts
    streams = parse(params.instructions, grid.pipeline) if params.schedule == "own" else None
    cut = Cut(
        grid,
        schedule=params.schedule,
        micro_batches=micro,
        exchange=params.exchange,
        bucket=params.bucket,
        zero=params.zero,
        recompute=params.recompute,
        layers=[int(word) for word in params.layers.split(",")] if params.layers else (),
        streams=streams,
        halo=params.fault != "no-halo",
        gather=params.fault != "no-gather",
    )
    backward = each if cut.puts_gradients_off else 2 * each
    return replace(cut, pace={"forward": each, "backward": backward, "weights": each}) if each else cut


def network_of(params: ParallelParams, plan: bool = False) -> Callable[[], Sequence[Layer]]:
    """A function that builds the network; for a `plan`, without memory."""
    draw = Draw(params.seed, params.precision, plan)
    if params.network == "perceptron":
        widths = [64, *[params.width] * params.blocks, CLASSES]
        return lambda: networks.perceptron(widths, draw)
    if params.network == "convolutional":
        channels = [1, *[params.width] * params.blocks]
        return lambda: networks.convolutional(channels, CLASSES, draw)
    shape = TransformerShape(
        len(text()[1]),
        params.length,
        params.width,
        params.heads,
        params.blocks,
        params.experts,
        params.capacity,
    )
    return lambda: networks.transformer(shape, draw)


def inputs_of(params: ParallelParams) -> tuple[Shape, np.dtype]:
    """The shape and type of a batch."""
    numbers = np.dtype(params.precision)
    match params.network:
        case "transformer":
            return (params.batch, params.length), np.dtype(np.int64)
        case "perceptron":
            return (params.batch, 64), numbers
    return (params.batch, params.image, params.image, 1), numbers


def training(params: ParallelParams, cut: Cut, comm: MPI.Comm | None, rank: int = 0) -> CutTraining:
    """A rank's part of the training; without `comm`, its plan. Raises BadInput."""
    shape, dtype = inputs_of(params)
    network = network_of(params, plan=comm is None)
    return CutTraining(comm, cut, network, lambda: Adam(params.rate), shape, dtype, rank)


def plans(params: ParallelParams, ranks: int) -> list[CutTraining]:
    """The plan of each rank. Raises BadInput."""
    cut = cut_of(params, ranks)
    return [training(params, cut, None, rank) for rank in range(ranks)]


def check(params: ParallelParams, ranks: int) -> None:
    """Raise BadInput where the training can't be cut so. First ranks of stages and the last rank stand for all."""
    cut = cut_of(params, ranks)
    for rank in {0, ranks - 1, *cut.grid.first_pipeline}:
        training(params, cut, None, rank)
