"""What leaves an institution, and how: params of their own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workshop.extension import Params

LEAVING = {"part": "What leaves an institution"}


class Sending(Params):
    """How updates are hidden from the aggregator, or made smaller, and who falls silent before sending one."""

    secure: Literal["off", "masks", "unequal"] = Field(
        "off",
        description="hide each update behind pairwise masks that cancel in the sum; unequal: in a wrong way, weighted "
        "after masking",
        json_schema_extra=LEAVING,
    )
    compression: Literal["none", "topk", "8bit"] = Field(
        "none",
        description="send the largest values of an update only, or all of them in eight bits each",
        json_schema_extra=LEAVING,
    )
    keep: float = Field(
        0.01,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="for topk: share of the values that is sent",
        json_schema_extra={**LEAVING, "when": {"compression": "topk"}},
    )
    silent: int = Field(
        0,
        ge=0,
        le=255,
        description="institutions that fall silent in each round before they send their update",
        json_schema_extra=LEAVING,
    )
