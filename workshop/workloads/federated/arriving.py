"""Updates on their way, one after the other: each is encoded when its turn has come, and forgotten once the aggregator
has added it up, so that memory doesn't grow with the institutions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.workloads.federated.messages import AGGREGATOR, Kind, Line, home

Parts = Mapping[str, NDArray[Any]]  # messages by the names of their kinds


def arriving(
    ctx: RankContext, line: Line, kinds: Sequence[Kind], senders: Sequence[int], encoded: Callable[[int], Parts]
) -> Iterator[tuple[int, Parts]]:
    """What these institutions send, on the aggregator's rank; nothing on others. Collective: to be read to its end.

    `encoded` makes the messages of an institution that lives on this rank. Others than the aggregator's rank need to
    know of senders that live there only. What the reader does with an update counts as the phase "aggregate".
    """
    for sender in sorted(senders):
        mine: Parts = {}
        if home(sender, ctx.size) == ctx.rank:
            with ctx.phase("encode"):
                mine = encoded(sender)
        with ctx.phase("gather"):
            parts = line.from_institution(kinds, sender, mine)
        if ctx.rank == AGGREGATOR:
            with ctx.phase("aggregate"):
                yield sender, parts
