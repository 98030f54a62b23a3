"""Expert parallel: every rank has some of the experts, and tokens travel to them and back with an all-to-all (Fedus et
al., Switch Transformers, arXiv:2101.03961). Ranks of the group have examples of their own."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Layer, Residual, Sequential
from workshop.workloads.parallel.network.networks import Experts


def cut(layers: Sequence[Layer], comm: CountingCommunicator) -> list[Layer]:
    """The layers with this rank's share of the experts. Ranks of the group have examples of their own, so that each has
    a part of the gradients of everything else. Raises BadInput where the experts can't be divided."""
    shared = [_own_experts(layer, comm) for layer in layers]
    local = {id(parameter) for layer in _experts(shared) for each in layer.local for parameter in each.parameters}
    for parameter in Sequential(shared).parameters:
        parameter.partial = id(parameter) not in local
    return shared


def _own_experts(layer: Layer, comm: CountingCommunicator) -> Layer:
    if isinstance(layer, Residual):
        return Residual(*(_own_experts(inside, comm) for inside in layer.inside.layers))
    if not isinstance(layer, Experts):
        return layer
    if layer.experts % comm.size:
        raise BadInput(
            f"{layer.experts} experts can't be divided among {comm.size} ranks; take a multiple of {comm.size}."
        )
    share = layer.experts // comm.size
    local = layer.local[comm.rank * share : (comm.rank + 1) * share]
    return Experts(layer.router, local, layer.experts, layer.capacity, comm)


def _experts(layers: Sequence[Layer]) -> list[Experts]:
    inside = [each for layer in layers for each in (layer.inside.layers if isinstance(layer, Residual) else [layer])]
    return [layer for layer in inside if isinstance(layer, Experts)]


def dropped(layers: Sequence[Layer]) -> int:
    """The tokens that no expert of these layers had a place for."""
    return sum(layer.dropped for layer in _experts(layers))
