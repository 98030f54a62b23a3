"""What can't be asked for at once, in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workshop.workloads.federated.guarding import ROBUST

if TYPE_CHECKING:
    from workshop.workloads.federated.params import Learning

PAIRS = 3  # institutions below which a sum gives one of them away


def impossible(params: Learning) -> str | None:
    """Why these params can't be a run together; None where they can."""
    return _sending(params) or _guarding(params)


def _sending(params: Learning) -> str | None:
    hidden, part = params.secure != "off", params.taking_part
    if (hidden or params.compression != "none" or params.silent) and params.way in ("centralised", "alone"):
        return (
            f"Nobody sends updates where way is {params.way}, so there is nothing to hide, to compress or to keep "
            "back; take way federated or all, or leave secure, compression and silent as they are."
        )
    if hidden and params.compression != "none":
        return (
            "Compressed updates can't be masked: masks are added in whole numbers to every value of an update; take "
            "secure off or compression none."
        )
    if hidden and params.institutions < PAIRS:
        return (
            f"Secure aggregation needs {PAIRS} institutions at least, so that the sum doesn't give one of them away; "
            f"there are {params.institutions}."
        )
    if hidden and part < PAIRS:
        return (
            f"Secure aggregation needs {PAIRS} institutions in each round at least: participation "
            f"{params.participation:g} of {params.institutions} institutions is {part}."
        )
    left, word = (PAIRS, "three have") if hidden else (1, "one has")
    if params.silent > part - left and params.silent:
        return (
            f"silent is {params.silent}: of {part} institutions in a round at least {word} to send; take at most "
            f"{max(part - left, 0)}."
        )
    return None


def _guarding(params: Learning) -> str | None:
    part = params.taking_part
    if params.guarded and params.way in ("centralised", "alone"):
        return (
            f"Nobody sends updates where way is {params.way}, so there is nothing to poison or to protect; take way "
            "federated or all, or leave attack, rule and privacy as they are."
        )
    if params.attacked and params.attackers >= params.institutions:
        return (
            f"attackers is {params.attackers} of {params.institutions} institutions: at least one has to be honest; "
            f"take at most {params.institutions - 1}."
        )
    if params.rule in ROBUST and params.secure != "off":
        return (
            f"The rule {params.rule} compares updates, which secure aggregation hides from the aggregator; take rule "
            "mean or secure off."
        )
    if params.rule in ROBUST and params.compression == "topk":
        return (
            f"The rule {params.rule} takes what is in the middle, which is 0 where few institutions send a value, as "
            "with compression topk; take compression 8bit or none, or rule mean."
        )
    if params.rule == "trimmed" and 2 * params.trim >= part - params.silent:
        return (
            f"trim is {params.trim}: that many largest and as many smallest of {part - params.silent} updates leave "
            "none; take less than half of them."
        )
    if params.privacy == "images" and getattr(params, "norm", None) == "batch":  # of tasks whose network has one
        return (
            "Batch normalisation mixes the images of a batch, so that none has a gradient of its own to clip; take "
            "another norm, or privacy institutions."
        )
    return _private(params) if params.privacy == "institutions" else None


def _private(params: Learning) -> str | None:
    if params.rule in ROBUST:
        return (
            f"Noise for privacy of institutions is made for their mean, which one of them can move by clip only; with "
            f"rule {params.rule} that doesn't hold; take rule mean."
        )
    if params.compression != "none":
        return (
            "Compression changes updates after they were clipped, so that privacy of institutions doesn't hold; take "
            "compression none, or privacy images."
        )
    if params.participation < 1 and (params.secure != "off" or params.silent):
        return (
            "With privacy of institutions each is drawn by itself, so that a round may have too few of them for "
            "secure aggregation or silent ones; take participation 1."
        )
    return None
