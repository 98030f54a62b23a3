"""The params that all federations have in common, whatever institutions learn."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED
from workshop.extension import Params
from workshop.workloads.federated.combinations import impossible
from workshop.workloads.federated.guarding import Guarding
from workshop.workloads.federated.sending import Sending

MOST = 256  # institutions
PRIVATE = {"part": "Who has which images"}
LEARNING = {"part": "How institutions learn together"}

# What several workloads have, each with its own default.
Rounds = Annotated[int, Field(ge=1, le=10_000, description="times that models are brought together")]
Epochs = Annotated[
    int,
    Field(
        ge=1, le=1000, description="times that an institution reads its images in a round", json_schema_extra=LEARNING
    ),
]
Rate = Annotated[
    float,
    Field(
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="learning rate of the institutions",
        json_schema_extra=LEARNING,
    ),
]
Optimizer = Annotated[
    Literal["sgd", "adam"],
    Field(
        description="of the institutions: plain gradient descent, or Adam, which begins anew in every round",
        json_schema_extra=LEARNING,
    ),
]
Validation = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        allow_inf_nan=False,
        description="share of its images that each institution keeps to validate with",
        json_schema_extra=ADVANCED,
    ),
]
EvaluateImages = Annotated[
    Annotated[int, Field(ge=1, le=60_000)] | None,
    Field(description="held-out images that models are tested on; empty: all", json_schema_extra=ADVANCED),
]


class Together(Params):
    """Who learns, in which way, for how long."""

    way: Literal["federated", "centralised", "alone", "all"] = Field(
        "federated",
        description="updates are averaged, images are pooled, each learns alone, or all three side by side",
        json_schema_extra={"page": "all"},
    )
    institutions: int = Field(
        4, ge=1, le=MOST, description="how many share the work; with fewer ranks, several live on one"
    )
    rounds: Rounds = 15


class Training(Together):
    """How institutions learn, and what the aggregator makes of it."""

    algorithm: Literal["fedavg", "fedprox", "fedadam"] = Field(
        "fedavg",
        description="average updates, hold local models near the shared one as well, or let Adam take the step",
        json_schema_extra=LEARNING,
    )
    mu: float = Field(
        0.1,
        ge=0,
        le=1000,
        allow_inf_nan=False,
        description="for fedprox: how strongly local models are held near the shared one",
        json_schema_extra={**LEARNING, "when": {"algorithm": "fedprox"}},
    )
    server_rate: float = Field(
        0.01,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="for fedadam: learning rate of the aggregator",
        json_schema_extra={**LEARNING, "when": {"algorithm": "fedadam"}},
    )
    epochs: Epochs = 2
    participation: float = Field(
        1.0,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="share of the institutions that learn in a round",
        json_schema_extra=LEARNING,
    )
    batch: int = Field(
        32, ge=1, le=60_000, description="images in a step; at most as many as there are", json_schema_extra=LEARNING
    )
    rate: Rate = 0.1
    optimizer: Optimizer = "sgd"
    steps: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="steps of an institution in a round, in place of epochs", json_schema_extra=ADVANCED
    )
    validation: Validation = 0.2
    evaluate_images: EvaluateImages = 2000
    seed: int = Field(
        0,
        ge=0,
        le=2**31 - 1,
        description="seed of weights, shares, order and participation",
        json_schema_extra=ADVANCED,
    )

    @property
    def taking_part(self) -> int:
        """How many institutions learn in a round: max(C K, 1) of K (McMahan et al. 2017, arXiv:1602.05629, algorithm
        1)."""
        return max(math.floor(self.participation * self.institutions + 0.5), 1)


class Learning(Guarding, Sending, Training):
    """What a federation knows of any run's params. Refuses what can't be asked for at once."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if why := impossible(self):
            raise ValueError(why)
        return self
