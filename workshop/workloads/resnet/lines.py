"""The lines that a benchmark prints: Horovod's (examples/tensorflow2/tensorflow2_synthetic_benchmark.py), or those of
TensorFlow's tf_cnn_benchmarks. Each has a class, with the lines of the opening, of a round and of the closing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from workshop.engine.training.step_report import Totals, speed
from workshop.workloads.resnet.rounds import summary

RULE = "-" * 64


@dataclass(frozen=True)
class HorovodLines:
    """A rate for each round, and their mean ± deviation at the end."""

    model: str
    batch: int  # images of each rank in a step
    ranks: int

    def opening(self) -> list[str]:
        """The first lines: the network, the images of a rank's step, and the ranks."""
        return [f"Model: {self.model}", f"Batch size: {self.batch}", f"Number of CPUs: {self.ranks}"]

    def of_round(self, rates: Sequence[float], totals: Totals) -> list[str]:
        """The line of the last of the rounds, whose ranks each trained on `rates` images/s."""
        return [f"Iter #{len(rates) - 1}: {rates[-1]:.1f} img/sec per CPU"]

    def closing(self, rates: Sequence[float], totals: Totals) -> list[str]:
        """The last lines, of the rounds' `rates`; none without rates."""
        if not (rounds := summary(rates, self.ranks)):
            return []
        return [
            f"Img/sec per CPU: {rounds['per_rank']:.1f} +-{rounds['per_rank_deviation']:.1f}",
            f"Total img/sec on {self.ranks} CPU(s): {rounds['total']:.1f} +-{rounds['total_deviation']:.1f}",
        ]


@dataclass(frozen=True)
class TfCnnLines:
    """Rank 0's images/s over all of its steps so far, behind step 1 and behind each round; at the end those of all
    ranks, with the time between steps."""

    model: str
    batch: int
    ranks: int

    def opening(self) -> list[str]:
        """The first lines, up to the names of the columns."""
        return [
            f"Model:       {self.model}",
            f"Batch size:  {self.ranks * self.batch} global",
            f"             {self.batch} per device",
            "Running warm up",
            "Done warm up",
            "Step\tImg/sec\ttotal_loss",
        ]

    def of_round(self, rates: Sequence[float], totals: Totals) -> list[str]:
        """The line behind the last of the rounds, and behind step 1 in the first round."""
        steps = sorted({1, totals.steps}) if len(rates) == 1 else [totals.steps]
        return [step_line(step, totals) for step in steps]

    def closing(self, rates: Sequence[float], totals: Totals) -> list[str]:
        """The images/s of all ranks between two rules; none without rates."""
        return [RULE, f"total images/sec: {totals.examples.sum() / totals.seconds:.2f}", RULE] if rates else []


def step_line(step: int, totals: Totals) -> str:
    """The line behind a measured step, counted from 1: rank 0's images/s ± uncertainty and their jitter over the steps
    up to this one (see `step_report.Speed`), and the step's loss over all ranks."""
    examples, seconds = (
        np.concatenate(blocks, axis=1)[0, :step] for blocks in (totals.own_examples, totals.own_seconds)
    )
    measured = speed(examples, seconds, seconds.sum())
    assert measured is not None, "a measured step takes time"
    loss = np.concatenate(totals.step_losses)[step - 1]
    rate = f"{measured.mean:.1f} +/- {measured.deviation:.1f} (jitter = {measured.jitter:.1f})"
    return f"{step}\timages/sec: {rate}\t{loss:.3f}"


class Lines(Protocol):
    """The lines of a benchmark. `rates` are images/s of each rank in the rounds so far, `totals` those of the steps."""

    def opening(self) -> list[str]: ...
    def of_round(self, rates: Sequence[float], totals: Totals) -> list[str]: ...
    def closing(self, rates: Sequence[float], totals: Totals) -> list[str]: ...


class Printer(Protocol):
    """Makes the lines of a network, the images of a rank's step, and the ranks."""

    def __call__(self, model: str, batch: int, ranks: int) -> Lines: ...


LINES: Mapping[str, Printer] = {"horovod": HorovodLines, "tf_cnn_benchmarks": TfCnnLines}
