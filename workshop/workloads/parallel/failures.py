"""Guided failures of cuts: mistakes in what ranks exchange, and in how the work is divided."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workshop.core.placement import Host, Placement
from workshop.extension import Failure

SMALL: Mapping[str, Any] = {"width": 32, "length": 32, "steps": 30}


def _failure(name: str, title: str, shows: str, fix: str, look_for: str, ranks: int = 2, **more: Any) -> Failure:
    placement = Placement(ranks=ranks, oversubscribe=True, threads=1)
    return Failure(
        name, title, shows, "parallel", broken=placement, fixed=placement, fix=fix, look_for=look_for, **more
    )


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Sequence[Failure]:
    """All of them; two cores are enough, and the ranks take turns on one."""
    return (
        _failure(
            "unequal-stages",
            "Stages of unequal work",
            "The first stage has all four blocks of the transformer, and the second stage has only the last layers.",
            "Give each stage about the same work.",
            "Which rank idles in the timeline, and when? How long does a step take in both runs?",
            params={"cut": "pipeline:2", "micro_batches": 8, "steps": 30},
            broken_params={"layers": "9,2"},
            fixed_params={"layers": "5,6"},
            verdict="has the most work",
            mended="rounding in another order",
        ),
        _failure(
            "single-micro-batch",
            "One micro-batch",
            "The batch goes through the pipeline in one piece, so only one of the two stages works at a time. The "
            "stages are paced: both runs have the same work in total.",
            "Divide the batch into eight micro-batches.",
            "Which share of the time do the stages idle? What does the formula (p - 1) / (m + p - 1) say for both "
            "runs?",
            params={**SMALL, "cut": "pipeline:2", "schedule": "gpipe", "steps": 8},
            broken_params={"micro_batches": 1, "pace": 0.08},
            fixed_params={"micro_batches": 8, "pace": 0.01},
            verdict="the pipeline fills and empties",
            mended="rounding in another order",
        ),
        _failure(
            "tensor-across-hosts",
            "A tensor cut across slow hosts",
            "Two ranks share each matrix and exchange in each layer. They are on different emulated hosts, and a call "
            "between the hosts takes 5 ms longer.",
            "Put ranks that share a matrix on one host, and exchange only the gradients between hosts, once in a step.",
            "How many calls does a step make along each axis of the grid? How much faster is the second run?",
            ranks=4,
            params={**SMALL, "cut": "data:2,tensor:2", "host_delay": 0.005},
            broken_params={"host_order": "node"},
            fixed_params={"host_order": "slot"},
            verdict="on different hosts",
            mended="Data 2 x tensor 2",
        ),
        _failure(
            "untied-gradients",
            "Tied weights that drift apart",
            "The first and the last stage use the same table of characters. Each stage updates its copy with its own "
            "gradient.",
            "Add up the gradients of both stages before the update.",
            "Does the loss show the mistake? How far are the weights from those of one process?",
            params={**SMALL, "cut": "pipeline:2", "tied": True},
            broken_params={"fault": "untied"},
            fixed_params={"fault": "none"},
            verdict="have different tables",
            mended="rounding in another order",
        ),
        _failure(
            "missing-halo",
            "Stripes without their halo",
            "Each rank has a stripe of each image. A convolution at the border needs a row of the neighbour, and the "
            "ranks don't exchange it.",
            "Exchange the rows at the border before each convolution.",
            "Which bytes are missing in the table of the broken run? Does the loss show the mistake?",
            params={"network": "convolutional", "cut": "spatial:2", "width": 8, "blocks": 2, "steps": 30},
            broken_params={"fault": "no-halo"},
            fixed_params={"fault": "none"},
            verdict="stripes as if they were images of their own",
            mended="rounding in another order",
        ),
        _failure(
            "zero-without-gather",
            "ZeRO that doesn't collect the weights",
            "Each rank updates a share of the weights, and evaluates with a network whose other weights are old.",
            "Collect the weights of all ranks after each update.",
            "How large is the loss on other examples in both runs? Which call is missing in the table of bytes?",
            params={**SMALL, "zero": 1},
            broken_params={"fault": "no-gather"},
            fixed_params={"fault": "none"},
            verdict="weights of which most are old",
            mended="rounding in another order",
        ),
    )
