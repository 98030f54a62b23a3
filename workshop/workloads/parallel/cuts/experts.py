"""Experts: a feed-forward layer of which every rank has some (Shazeer et al., arXiv:1701.06538; Fedus et al., Switch
Transformers, arXiv:2101.03961).

A router sends each token to one expert. Tokens travel to the ranks of their experts and back with an all-to-all. An
expert takes at most `capacity` tokens of each rank; others pass unchanged, and are counted as dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Array, Layer, Linear, Parameter, Saved, softmax


class Experts:
    """Routes tokens [batch, length, width] to `experts` on all ranks; `own` are those of this rank."""

    def __init__(
        self, router: Linear, own: Sequence[Layer], experts: int, capacity: int, comm: CountingCommunicator
    ) -> None:
        if experts % comm.size:
            raise BadInput(f"{experts} experts can't be divided among {comm.size} ranks; take a multiple.")
        self.router, self.own, self.experts, self.capacity, self.comm = router, own, experts, capacity, comm
        self.dropped = 0  # tokens of the last forward computation

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [*self.router.parameters, *(parameter for layer in self.own for parameter in layer.parameters)]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        tokens = inputs.reshape(-1, inputs.shape[-1])
        scores, router_saved = self.router.forward(tokens)
        gates = softmax(scores)
        chosen = gates.argmax(axis=1)
        places, kept = self._places(chosen)
        self.dropped = len(tokens) - len(kept)
        sent = np.zeros((self.experts, self.capacity, tokens.shape[1]), tokens.dtype)
        sent[chosen[kept], places[kept]] = tokens[kept]
        arrived = self._to_experts(sent)
        results, expert_saved = [], []
        for layer, block in zip(self.own, arrived, strict=True):
            result, saved = layer.forward(block)
            results.append(result)
            expert_saved.append(saved)
        returned = self._from_experts(np.stack(results))
        outputs = np.zeros_like(tokens)
        weight = gates[kept, chosen[kept]][:, None]
        outputs[kept] = weight * returned[chosen[kept], places[kept]]
        return outputs.reshape(inputs.shape), (router_saved, gates, chosen, places, kept, returned, expert_saved)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        router_saved, gates, chosen, places, kept, returned, expert_saved = saved
        flat = gradient.reshape(-1, gradient.shape[-1])
        back = returned[chosen[kept], places[kept]]
        of_returned = np.zeros_like(returned)
        of_returned[chosen[kept], places[kept]] = gates[kept, chosen[kept]][:, None] * flat[kept]
        arrived = self._to_experts(of_returned)
        blocks = [
            layer.backward(block, layer_saved)
            for layer, block, layer_saved in zip(self.own, arrived, expert_saved, strict=True)
        ]
        of_sent = self._from_experts(np.stack(blocks))
        of_gates = np.zeros_like(gates)
        of_gates[kept, chosen[kept]] = (flat[kept] * back).sum(axis=1)
        of_scores = gates * (of_gates - (of_gates * gates).sum(axis=1, keepdims=True))
        of_tokens = self.router.backward(of_scores, router_saved)
        of_tokens[kept] += of_sent[chosen[kept], places[kept]]
        return of_tokens.reshape(gradient.shape)

    def _places(self, chosen: Array) -> tuple[Array, Array]:
        """The place of each token among those of its expert, and the tokens that have one."""
        places = np.zeros(len(chosen), np.int64)
        for expert in range(self.experts):
            tokens = np.flatnonzero(chosen == expert)
            places[tokens] = np.arange(len(tokens))
        return places, np.flatnonzero(places < self.capacity)

    def _to_experts(self, blocks: Array) -> Array:
        """Blocks [experts, capacity, width] of this rank's tokens -> of own experts [own, ranks x capacity, width]."""
        ranks, width = self.comm.size, blocks.shape[-1]
        arrived = self.comm.all_to_all(blocks.reshape(ranks, -1, self.capacity, width))
        return arrived.transpose(1, 0, 2, 3).reshape(self.experts // ranks, -1, width)

    def _from_experts(self, blocks: Array) -> Array:
        """The way back of `_to_experts`."""
        ranks, width = self.comm.size, blocks.shape[-1]
        ordered = blocks.reshape(-1, ranks, self.capacity, width).transpose(1, 0, 2, 3)
        return self.comm.all_to_all(ordered).reshape(self.experts, self.capacity, width)
