"""What left the institutions of a federation: bytes that compression saved, what masks cost and hid, who fell silent;
and masks that were left in the sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.report.facts import FederationFacts, numbered

OPENFL = "OpenFL 1.9's own secure aggregation has this fault, too, where institutions are of unequal size."
_CODECS = {"topk": "their largest values", "8bit": "eight bits for each value"}

Told = Mapping[str, Any]


def sent(metrics: Told) -> Told | None:
    """What a run has told of what left its institutions; None where it is no federation, or nothing was sent yet."""
    told = metrics.get("sending")
    return told if isinstance(told, Mapping) and told.get("rounds") and told.get("bytes_plain") else None


def broken(run: FederationFacts) -> Finding | None:
    """What made the shared model useless, or institutions unable to send."""
    told = sent(run.metrics)
    return (_uncancelled(run, told) or _too_large(run, told)) if told is not None else None


def measured(run: FederationFacts) -> Finding | None:
    """What sending otherwise came to; None where every institution sent its updates as they are."""
    told = sent(run.metrics)
    if told is None:
        return None
    said = [one for one in (_hidden(told), _compressed(run, told), _silent(told)) if one is not None]
    return Finding(said[0].verdict, " ".join(one.why for one in said), said[0].following) if said else None


def saving(told: Told) -> str:
    """How the bytes that went up for updates compare with those of plain ones: "50 times fewer", "2 times as many"."""
    share = told["bytes_updates"] / told["bytes_plain"]
    if 0.95 < share < 1.05:
        return "as many"
    return f"{1 / share:.2g} times fewer" if share < 1 else f"{share:.2g} times as many"


def _uncancelled(run: FederationFacts, told: Told) -> Finding | None:
    rounds, after = told.get("uncancelled") or 0, told.get("too_few") or 0
    if not rounds:
        return None
    sizes, reached = [one["images"] for one in run.institutions.values()], _reached(run)
    apart = ""
    if sizes and min(sizes) < max(sizes):
        apart = f" (they have from {words.thousands(min(sizes))} to {words.thousands(max(sizes))})"
    came = f"; the model came to {reached}" if reached else ""
    lost = f"; in {after} more no three updates were numbers that can be masked" if after else ""
    return Finding(
        "The masks did not cancel, and the shared model is noise.",
        "Updates were masked first and weighted by images afterwards: a mask that one of a pair adds and the other "
        f"takes away is multiplied by another number at each{apart}, and the difference stays in the sum. That was so "
        f"in {rounds} of {words.count(told['rounds'], 'round')}{lost}{came}. {OPENFL}",
        "Let each institution multiply its update by its images before it is masked (--secure masks), and compare.",
    )


def _too_large(run: FederationFacts, told: Told) -> Finding | None:
    rounds = told.get("too_large") or []
    if not any(rounds):
        return None
    return Finding(
        f"{numbered(_whose(rounds))} had updates too large to be masked.",
        f"Masks are added to numbers of a fixed point, which hold values up to 16,384; "
        f"{words.count(sum(rounds), 'update')} had larger ones, as training that diverges has, and "
        f"{'were' if sum(rounds) > 1 else 'was'} left out.",
        run.smaller_rate,
    )


def _hidden(told: Told) -> Finding | None:
    if told.get("secure") == "unequal" and not told.get("uncancelled"):
        return Finding(
            "Masks that are weighted afterwards cancelled, because all weights were the same.",
            "Updates were masked first and weighted by images afterwards, which goes well only where all institutions "
            "have as many images.",
            "Give them unequal numbers of images (--partition unequal): what is left of the model then?",
        )
    if told.get("secure") != "masks":
        return None
    each, plain = (words.size(told[name] / max(told["updates"], 1)) for name in ("bytes_updates", "bytes_plain"))
    seconds, few = told.get("seconds_encoding"), told.get("too_few") or 0
    took = alone = fall = ""
    if number(seconds) and seconds > 0:
        took = f"; agreeing on masks and adding them took rank 0 {words.seconds(seconds / told['rounds'])} in a round"
    if few:
        alone = (
            f" In {words.count(few, 'round')} fewer than three updates came: the sum would have given somebody away, "
            "and was not opened."
        )
    if not any(told.get("silent") or []):
        fall = "Let an institution fall silent after masks were agreed on (--silent 1). "
    return Finding(
        "No single update could be read: masks hid each, and cancelled in the sum.",
        f"An update took {each} to send, where a plain one takes {plain}{took}.{alone}",
        f"{fall}Weight updates after they were masked (--secure unequal): what does the sum come to then?",
    )


def _compressed(run: FederationFacts, told: Told) -> Finding | None:
    codec, top = _CODECS.get(str(told.get("compression"))), told.get("compression") == "topk"
    if codec is None:
        return None
    came, keep = _reached(run), run.params.get("keep")
    if told["bytes_updates"] > told["bytes_plain"]:
        verdict, following = (
            "Compression cost bytes in place of saving them.",
            "Take a smaller share of the values (--keep 0.1).",
        )
    else:
        verdict = f"Compression sent {saving(told)} bytes for updates{came and f', and came to {came}'}{_price(run)}."
        following = "Compare with plain updates of the same seed (--compression none): how much did the bytes cost?"
        if run.whole is not None and top and isinstance(keep, float):
            following = f"Send a tenth of that (--keep {keep / 10:.2g}): from where on does it cost more than it saves?"
        elif run.whole is not None:
            following = "Send the largest hundredth of the values only (--compression topk --keep 0.01), and compare."
    places = " A value that is sent takes its place along, four bytes more." if top else ""
    return Finding(
        verdict,
        f"Updates were sent as {codec}: {words.size(told['bytes_updates'])} in all, where plain ones take "
        f"{words.size(told['bytes_plain'])}.{places}",
        following,
    )


def _silent(told: Told) -> Finding | None:
    rounds = told.get("silent") or []
    missing = sum(rounds)
    if not missing:
        return None
    why = "the others were averaged without them"
    if told.get("seeds"):
        why = f"the others revealed {words.count(told['seeds'], 'seed')} of masks that they shared with them"
        why += ", and the sums of the rest came out exactly" if told.get("secure") == "masks" else ""
    return Finding(
        f"{numbered(_whose(rounds))} fell silent in some rounds.",
        f"{missing} of {words.count(told['updates'] + missing, 'update')} did not come, because their institutions "
        f"fell silent first; {why}.",
        "Compare with everybody's updates (--silent 0) of the same seed: what is lost with those that are missing?",
    )


def _whose(rounds: list[int]) -> list[int]:
    """The institutions, counted from 1, that have any."""
    return [one for one, count in enumerate(rounds, 1) if count]


def _reached(run: FederationFacts) -> str:
    """What the federation came to on held-out images; nothing where that isn't known yet."""
    return "" if run.reached is None else f"{percent(run.reached)} on held-out images"


def _price(run: FederationFacts) -> str:
    """What compression cost, against the same federation without it."""
    whole, reached = run.whole, run.reached
    if whole is None or reached is None:
        return ""
    if run.alike(whole, reached):
        return f", as plain updates do ({percent(whole)})"
    return f", {points(abs(whole - reached))} {'less' if whole > reached else 'more'} than with plain updates"
