"""Networks that nobody trains on a laptop, by the same arithmetic: does one fit on a device, and with which cut?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import RankGrid
from workshop.workloads.parallel.cuts.zero import Adam
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.training import Cut, CutTraining, MemoryLedger

MIXED = 16  # bytes of a weight in mixed precision with Adam (Rajbhandari et al., arXiv:1910.02054, section 3.1)
HALF = 2  # bytes of an activation in 16 bits
MOST, MOST_STAGES = 4096, 64  # ranks


@dataclass(frozen=True)
class Fit:
    """The fewest ranks on which a way of cutting fits, and the memory of the rank that needs most."""

    way: str
    ranks: int
    ledger: MemoryLedger


@dataclass(frozen=True)
class TransformerNetwork:
    """A transformer. `batch`: texts of each rank that divides the data."""

    title: str
    source: str
    shape: TransformerShape
    batch: int = 1

    @property
    def parameters(self) -> int:
        return sum(parameter.size for parameter in self._plan(RankGrid(), 0).parameters)

    @property
    def alone(self) -> MemoryLedger:
        """The memory on one device."""
        return self._ledger(RankGrid(), 0)

    def fits(self, memory: float) -> list[Fit]:
        """Ways that fit into so many bytes of each device: those with the fewest ranks, for each way."""
        ways = []
        for way, zero, axis in (
            ("one device", 0, ""),
            ("data, ZeRO 3", 3, "data"),
            ("tensor", 0, "tensor"),
            ("pipeline", 0, "pipeline"),
        ):
            for grid in self._grids(axis):
                try:
                    ledgers = [self._ledger(grid, zero, rank) for rank in {0, grid.size - 1}]
                except BadInput:
                    break
                ledger = max(ledgers, key=lambda each: each.total)
                if ledger.total <= memory:
                    ways.append(Fit(way, grid.size, ledger))
                    break
        return ways

    def _ledger(self, grid: RankGrid, zero: int, rank: int = 0) -> MemoryLedger:
        """A rank's memory in mixed precision: Adam has a mean, a square and a copy of each weight in 32 bits, and the
        plan of 16 bits has a mean and a square."""
        planned = self._plan(grid, zero, rank).planned_memory()
        return replace(planned, optimizer=3 * planned.optimizer)

    def _grids(self, axis: str) -> Iterator[RankGrid]:
        size = 2 if axis else 1
        while size <= (MOST_STAGES if axis == "pipeline" else MOST if axis else 1):
            data, pipeline, layer = (size if axis == name else 1 for name in ("data", "pipeline", "tensor"))
            yield RankGrid(data, pipeline, layer)
            size *= 2

    def _plan(self, grid: RankGrid, zero: int, rank: int = 0) -> CutTraining:
        cut = Cut(grid, zero=zero, recompute=True, micro_batches=grid.pipeline)
        draw = Draw(0, np.float16, plan=True)
        batch = self.batch * grid.data * grid.pipeline
        shape = (batch, self.shape.length)
        network = networks.transformer
        return CutTraining(
            None, cut, lambda: network(self.shape, draw), lambda: Adam(1e-4), shape, np.dtype(np.int64), rank
        )


@dataclass(frozen=True)
class ConvolutionalNetwork:
    """A convolutional network as rows of [height, width, channels in, channels out, kernel]: weights and activations
    are sums over them. `batch`: images of each rank."""

    title: str
    source: str
    rows: Sequence[tuple[int, int, int, int, int]]
    batch: int = 1

    @property
    def parameters(self) -> int:
        return sum(kernel**2 * inputs * outputs + outputs for _, _, inputs, outputs, kernel in self.rows)

    @property
    def activations(self) -> int:
        """Numbers that one image keeps: the outputs of each convolution."""
        return sum(height * width * outputs for height, width, _, outputs, _ in self.rows)

    @property
    def alone(self) -> MemoryLedger:
        """The memory on one device."""
        return self._ledger(1)

    def _ledger(self, ranks: int) -> MemoryLedger:
        weights, gradients, optimizer = (size * self.parameters for size in (HALF, HALF, MIXED - 2 * HALF))
        return MemoryLedger(weights, gradients, optimizer, self.batch * self.activations * HALF // ranks)

    def fits(self, memory: float) -> list[Fit]:
        """One device, or stripes of the images: each rank has all weights, and a share of the activations."""
        for ranks in (2**power for power in range(13)):
            ledger = self._ledger(ranks)
            if ledger.total <= memory:
                return [Fit("one device" if ranks == 1 else "spatial", ranks, ledger)]
        return []


def resnet50() -> list[tuple[int, int, int, int, int]]:
    """ResNet-50 for 224 × 224 pixels (He et al., arXiv:1512.03385, table 1), with its last layer as a convolution of
    one pixel."""
    rows, inputs = [(112, 112, 3, 64, 7)], 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        side = 56 >> stage
        for block in range(blocks):
            if block == 0:
                rows.append((side, side, inputs, 4 * width, 1))
            rows += [(side, side, inputs, width, 1), (side, side, width, width, 3), (side, side, width, 4 * width, 1)]
            inputs = 4 * width
    return [*rows, (1, 1, inputs, 1000, 1)]


def unet(size: int, channels: int = 1, classes: int = 2) -> list[tuple[int, int, int, int, int]]:
    """U-Net (Ronneberger et al., arXiv:1505.04597, figure 1), with convolutions that keep the size of the image."""
    rows, inputs = [], channels
    for level in range(5):
        side, width = size >> level, 64 << level
        rows += [(side, side, inputs, width, 3), (side, side, width, width, 3)]
        inputs = width
    for level in reversed(range(4)):
        side, width = size >> level, 64 << level
        rows += [(side, side, 2 * width, width, 2), (side, side, 2 * width, width, 3), (side, side, width, width, 3)]
    return [*rows, (size, size, 64, classes, 1)]


GPT2 = "Radford et al. 2019, table 2"
OPT = "Zhang et al., OPT, arXiv:2205.01068, table 1"
NETWORKS: Sequence[TransformerNetwork | ConvolutionalNetwork] = (
    ConvolutionalNetwork("ResNet-50, 64 images of 224 × 224", "He et al., arXiv:1512.03385, table 1", resnet50(), 64),
    ConvolutionalNetwork("U-Net, one image of 1360 × 1360", "Ronneberger et al., arXiv:1505.04597", unet(1360)),
    ConvolutionalNetwork("U-Net, one image of 8192 × 8192", "Ronneberger et al., arXiv:1505.04597", unet(8192)),
    TransformerNetwork("GPT-2, small", GPT2, TransformerShape(50257, 1024, 768, 12, 12, tied=True)),
    TransformerNetwork("GPT-2, largest", GPT2, TransformerShape(50257, 1024, 1600, 25, 48, tied=True)),
    TransformerNetwork("7 B transformer", OPT, TransformerShape(50272, 2048, 4096, 32, 32, tied=True)),
    TransformerNetwork("66 B transformer", OPT, TransformerShape(50272, 2048, 9216, 72, 64, tied=True)),
)
