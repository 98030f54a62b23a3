"""Messages between institutions and the aggregator."""

from __future__ import annotations

from workshop.engine.context import RankContext
from workshop.workloads.federated.communication.messages import InstitutionChannel
from workshop.workloads.federated.communication.secure_aggregation import SecureUplink
from workshop.workloads.federated.communication.transmission import PlainUplink, Uplink
from workshop.workloads.federated.params import Learning


def uplink(ctx: RankContext, channel: InstitutionChannel, params: Learning) -> Uplink:
    """Return the way to send updates that a run's params ask for."""
    kind = PlainUplink if params.secure == "off" else SecureUplink
    return kind(ctx, channel, params)
