"""Who attacks a federation, and what protects it: params of their own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workshop.extension import Params

GUARDING = {"part": "Attack and defence"}
ROBUST = ("median", "trimmed")  # rules that compare updates, where the mean only adds them up


class Guarding(Params):
    """What a poisoned institution does, how the aggregator brings updates together, and what noise hides."""

    attack: Literal["none", "flip", "scale", "nan"] = Field(
        "none",
        description="what poisoned institutions do: learn from wrong labels, multiply their update, or send what is no "
        "number",
        json_schema_extra=GUARDING,
    )
    attackers: int = Field(
        1,
        ge=1,
        le=255,
        description="how many institutions are poisoned, where any are",
        json_schema_extra={**GUARDING, "when": {"attack": ["flip", "scale", "nan"]}},
    )
    boost: float = Field(
        -5.0,
        ge=-1000,
        le=1000,
        allow_inf_nan=False,
        description="for scale: what a poisoned update is multiplied by; below zero it is turned round",
        json_schema_extra={**GUARDING, "when": {"attack": "scale"}},
    )
    rule: Literal["mean", "median", "trimmed"] = Field(
        "mean",
        description="how updates become one: their mean by images, or of each value the median, or the mean without "
        "the largest and the smallest, in which institutions count alike",
        json_schema_extra=GUARDING,
    )
    trim: int = Field(
        1,
        ge=1,
        le=127,
        description="for trimmed: how many of the largest values are left out, and as many of the smallest",
        json_schema_extra={**GUARDING, "when": {"rule": "trimmed"}},
    )
    privacy: Literal["none", "institutions", "images"] = Field(
        "none",
        description="differential privacy by clipping and noise: hides whether an institution took part, or whether "
        "an image was among an institution's",
        json_schema_extra=GUARDING,
    )
    clip: float = Field(
        1.0,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="for privacy: longest that an institution's update, or an image's gradient, may be",
        json_schema_extra={**GUARDING, "when": {"privacy": ["institutions", "images"]}},
    )
    noise: float = Field(
        1.0,
        ge=0,
        le=1e4,
        allow_inf_nan=False,
        description="for privacy: standard deviation of the noise, in units of clip; 0 promises nothing",
        json_schema_extra={**GUARDING, "when": {"privacy": ["institutions", "images"]}},
    )
    delta: float = Field(
        1e-5,
        gt=0,
        lt=1,
        allow_inf_nan=False,
        description="for privacy: epsilon is told for this delta; well below one over what is hidden among",
        json_schema_extra={**GUARDING, "when": {"privacy": ["institutions", "images"]}},
    )
    beside: bool = Field(
        True,
        description="with an attack, a rule, privacy or compression: train the same federation without beside it, to "
        "see what they change",
        json_schema_extra=GUARDING,
    )

    @property
    def attacked(self) -> bool:
        return self.attack != "none"

    @property
    def guarded(self) -> bool:
        """Whether anything here makes the federation another one than it would be."""
        return self.attacked or self.rule != "mean" or self.privacy != "none"
