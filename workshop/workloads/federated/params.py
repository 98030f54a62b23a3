"""The params of all federations, whatever institutions learn, and the combinations that are refused."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, setting
from workshop.engine.training import METRICS as TRAINING
from workshop.extension import Params

MOST_INSTITUTIONS = 256  # institutions
BOOST = -5.0  # what a poisoned update is multiplied by: it is turned round
ROBUST = ("median", "trimmed")  # rules that compare updates, where the mean only adds them up
PRIVATE: dict[str, Any] = {"part": "Who has which images"}
LEARNING: dict[str, Any] = {"part": "How institutions learn together"}
PROTECTION: dict[str, Any] = {"part": "Attack and defence"}
# Names of the metrics of any federation, see `workshop.extension.Workload`.
METRICS = {
    **TRAINING,
    "algorithm": "algorithm",
    "bytes_down": "sent to institutions",
    "bytes_model": "size of the model",
    "bytes_of_images": "size of all images",
    "bytes_up": "sent by institutions",
    "clipped": "share of updates that were clipped [%]",
    "drift": "difference of updates from their mean",
    "epsilon": "privacy budget epsilon (the largest)",
    "measure": "quality measure",
    "model": "network",
    "own_accuracy": "accuracy on the institutions' own images",
    "participants": "institutions in a round",
    "rounds": "rounds",
    "rule": "rule of aggregation",
    "seconds.aggregate": "time of aggregating",
    "seconds.broadcast": "time of sending models",
    "seconds.gather": "time of collecting updates",
    "seconds.wait": "time of waiting for institutions",
    "seconds_per_round": "time of a round [s]",
}


# The types of fields that several workloads have, each with its own default.
Rounds = Annotated[int, Field(description="how often models are combined", ge=1, le=10_000)]
Epochs = Annotated[
    int,
    Field(
        description="times that an institution reads its images in a round", json_schema_extra=LEARNING, ge=1, le=1000
    ),
]
Rate = Annotated[
    float, Field(description="learning rate of the institutions", json_schema_extra=LEARNING, gt=0, le=100)
]
Optimizer = Annotated[
    Literal["sgd", "adam"],
    Field(
        description="optimizer of the institutions: plain gradient descent, or Adam, which is reset in every round",
        json_schema_extra=LEARNING,
    ),
]
Validation = Annotated[
    float,
    Field(
        description="share of its images that each institution keeps to validate with",
        json_schema_extra=ADVANCED,
        gt=0,
        lt=1,
    ),
]
EvaluateImages = Annotated[
    Annotated[int, Field(ge=1, le=60_000)] | None,
    Field(description="held-out images that models are tested on; empty: all", json_schema_extra=ADVANCED),
]


class Together(Params):
    """The way of learning, the number of institutions and the number of rounds."""

    way: Literal["federated", "centralised", "alone", "all"] = setting(
        "federated",
        "updates are averaged, images are pooled, each learns alone, or all three side by side",
        {"page": "all"},
    )
    institutions: int = Field(
        4, ge=1, le=MOST_INSTITUTIONS, description="how many share the work; with fewer ranks, several live on one"
    )
    rounds: Rounds = 15


class TrainingParams(Together):
    """How institutions train, and how the aggregator combines their updates."""

    algorithm: Literal["fedavg", "fedprox", "fedadam"] = setting(
        "fedavg", "average updates, hold local models near the shared one as well, or let Adam take the step", LEARNING
    )
    mu: float = setting(
        0.1,
        "for fedprox: how strongly local models are held near the shared one",
        LEARNING,
        {"algorithm": "fedprox"},
        ge=0,
        le=1000,
    )
    server_rate: float = setting(
        0.01, "for fedadam: learning rate of the aggregator", LEARNING, {"algorithm": "fedadam"}, gt=0, le=100
    )
    epochs: Epochs = 2
    participation: float = setting(1.0, "share of the institutions that learn in a round", LEARNING, gt=0, le=1)
    batch: int = setting(32, "images in a step; at most as many as there are", LEARNING, ge=1, le=60_000)
    rate: Rate = 0.1
    optimizer: Optimizer = "sgd"
    validation: Validation = 0.2
    evaluate_images: EvaluateImages = 2000
    seed: int = setting(0, "seed of weights, shares, order and participation", ADVANCED, ge=0, le=2**31 - 1)

    @property
    def taking_part(self) -> int:
        """Institutions that learn in a round: max(C K, 1) of K (McMahan et al. 2017, arXiv:1602.05629)."""
        return max(math.floor(self.participation * self.institutions + 0.5), 1)


_POISONED = {"attack": "scale"}
_NOISY = {"privacy": "institutions"}


class ProtectionParams(Params):
    """Attack, rule of aggregation, and differential privacy."""

    attack: Literal["none", "scale"] = setting(
        "none", "what poisoned institutions do: send their update turned round and five times as long", PROTECTION
    )
    attackers: int = setting(
        1, "how many institutions are poisoned, where any are", PROTECTION, _POISONED, ge=1, le=255
    )
    rule: Literal["mean", "median", "trimmed"] = setting(
        "mean",
        "how updates are combined: the mean weighted by images; or the median of each value, or its mean without the "
        "largest and the smallest, both with equal weights",
        PROTECTION,
    )
    trim: int = setting(
        1,
        "for trimmed: how many of the largest values are left out, and as many of the smallest",
        PROTECTION,
        {"rule": "trimmed"},
        ge=1,
        le=127,
    )
    privacy: Literal["none", "institutions"] = setting(
        "none", "differential privacy by clipping and noise: hides whether an institution took part", PROTECTION
    )
    clip: float = setting(
        1.0,
        "for privacy: longest that an institution's update may be",
        PROTECTION,
        _NOISY,
        gt=0,
        le=1e9,
    )
    noise: float = setting(
        1.0,
        "for privacy: standard deviation of the noise, in units of clip; 0 promises nothing",
        PROTECTION,
        _NOISY,
        ge=0,
        le=1e4,
    )
    delta: float = setting(
        1e-5,
        "for privacy: epsilon is computed for this delta; it should be far below 1 / the number of institutions",
        PROTECTION,
        _NOISY,
        gt=0,
        lt=1,
    )
    beside: bool = setting(
        True,
        "with an attack, a rule or privacy: also train the same federation without them, to compare",
        PROTECTION,
    )

    @property
    def attacked(self) -> bool:
        return self.attack != "none"

    @property
    def guarded(self) -> bool:
        """Whether an attack, a robust rule or privacy changes the federation."""
        return self.attacked or self.rule != "mean" or self.privacy != "none"


class Learning(ProtectionParams, TrainingParams):
    """All params that any federation has. Refuses combinations that can't work."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        rules = (
            (
                self.way in ("centralised", "alone") and self.guarded,
                f"Nobody sends updates where way is {self.way}, so there is nothing to poison or to protect; take way "
                "federated or all, or leave attack, rule and privacy as they are.",
            ),
            (
                self.attacked and self.attackers >= self.institutions,
                f"attackers is {self.attackers} of {self.institutions} institutions: at least one has to be honest; "
                f"take at most {self.institutions - 1}.",
            ),
            (
                self.rule == "trimmed" and 2 * self.trim >= self.taking_part,
                f"trim is {self.trim}: that many largest and as many smallest of {self.taking_part} updates leave "
                "none; take less than half of them.",
            ),
            (
                self.privacy != "none" and self.rule in ROBUST,
                "Noise for privacy of institutions is made for their mean, which one of them can move by clip only; "
                f"with rule {self.rule} that doesn't hold; take rule mean.",
            ),
        )
        for wrong, why in rules:
            if wrong:
                raise ValueError(why)
        return self
