"""What left the institutions of a federation: bytes that compression saved, what masks cost and hid, who fell silent;
and masks that were left in the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import held_out, margin, percent, points

OPENFL = "OpenFL 1.9's own secure aggregation has this fault, too, where institutions are of unequal size."
_CODECS = {"topk": "their largest values", "8bit": "eight bits for each value"}


def sent(metrics: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a run has told of what left its institutions; None where it is no federation, or nothing was sent yet."""
    told = metrics.get("sending")
    if not isinstance(told, Mapping) or not told.get("rounds") or not told.get("bytes_plain"):
        return None
    return told


def broken(facts: Facts) -> Finding | None:
    """What made the shared model useless, or institutions unable to send."""
    told = sent(facts.metrics)
    if told is None:
        return None
    return _uncancelled(facts, told) or _too_large(facts, told)


def measured(facts: Facts) -> Finding | None:
    """What sending otherwise came to; None where every institution sent its updates as they are."""
    told = sent(facts.metrics)
    if told is None:
        return None
    found = [_hidden(facts, told), _compressed(facts, told), _silent(told)]
    said = [one for one in found if one is not None]
    if not said:
        return None
    first, *others = said
    return Finding(first.verdict, " ".join([first.why, *(one.why for one in others)]), first.following)


def saving(told: Mapping[str, Any]) -> str:
    """How the bytes that went up for updates compare with those of plain ones: "50 times fewer", "2 times as many"."""
    share = told["bytes_updates"] / told["bytes_plain"]
    if 0.95 < share < 1.05:
        return "as many"
    times = 1 / share if share < 1 else share
    return f"{times:.2g} times {'fewer' if share < 1 else 'as many'}"


def _uncancelled(facts: Facts, told: Mapping[str, Any]) -> Finding | None:
    rounds = told.get("uncancelled") or 0
    if not rounds:
        return None
    sizes = [one["images"] for one in facts.metrics.get("institutions") or [] if isinstance(one, Mapping)]
    apart = ""
    if sizes and min(sizes) < max(sizes):
        apart = f" (they have from {words.thousands(min(sizes))} to {words.thousands(max(sizes))})"
    reached, after = _reached(facts), told.get("too_few") or 0
    came = f"; the model came to {reached}" if reached else ""
    lost = f"; in {after} more no three updates were numbers that can be masked" if after else ""
    return Finding(
        "The masks did not cancel, and the shared model is noise.",
        "Updates were masked first and weighted by images afterwards: a mask that one of a pair adds and the other "
        f"takes away is multiplied by another number at each{apart}, and the difference stays in the sum. That was so "
        f"in {rounds} of {words.count(told['rounds'], 'round')}{lost}{came}. {OPENFL}",
        "Let each institution multiply its update by its images before it is masked (--secure masks), and compare.",
    )


def _too_large(facts: Facts, told: Mapping[str, Any]) -> Finding | None:
    whose = [one + 1 for one, rounds in enumerate(told.get("too_large") or []) if rounds]
    if not whose:
        return None
    rate = facts.run.params.get("rate")
    smaller = f" than {rate:.3g} (--rate {rate / 10:.2g})" if isinstance(rate, int | float) else " (--rate)"
    return Finding(
        f"{words.capital(words.numbered('institution', whose))} had updates too large to be masked.",
        f"Masks are added to numbers of a fixed point, which hold values up to 16,384; "
        f"{words.count(sum(told['too_large']), 'update')} had larger ones, as training that diverges has, and "
        f"{'were' if sum(told['too_large']) > 1 else 'was'} left out.",
        f"Take a smaller learning rate{smaller}.",
    )


def _hidden(facts: Facts, told: Mapping[str, Any]) -> Finding | None:
    if told.get("secure") == "unequal" and not told.get("uncancelled"):
        return Finding(
            "Masks that are weighted afterwards cancelled, because all weights were the same.",
            "Updates were masked first and weighted by images afterwards, which goes well only where all institutions "
            "have as many images.",
            "Give them unequal numbers of images (--partition unequal): what is left of the model then?",
        )
    if told.get("secure") != "masks":
        return None
    each = told["bytes_updates"] / max(told["updates"], 1)
    seconds = told.get("seconds_encoding")
    took = ""
    if isinstance(seconds, int | float) and seconds > 0:
        took = f"; agreeing on masks and adding them took rank 0 {words.seconds(seconds / told['rounds'])} in a round"
    few = told.get("too_few") or 0
    alone = (
        f" In {words.count(few, 'round')} fewer than three updates came: the sum would have given somebody away, and "
        "was not opened."
        if few
        else ""
    )
    fall = (
        ""
        if any(told.get("silent") or [])
        else "Let an institution fall silent after masks were agreed on (--silent 1). "
    )
    return Finding(
        "No single update could be read: masks hid each, and cancelled in the sum.",
        f"An update took {words.size(each)} to send, where a plain one takes "
        f"{words.size(told['bytes_plain'] / max(told['updates'], 1))}{took}.{alone}",
        f"{fall}Weight updates after they were masked (--secure unequal): what does the sum come to then?",
    )


def _compressed(facts: Facts, told: Mapping[str, Any]) -> Finding | None:
    codec = _CODECS.get(str(told.get("compression")))
    if codec is None:
        return None
    more = told["bytes_updates"] > told["bytes_plain"]
    came, whole = _reached(facts), held_out(facts, "whole")
    following = "Compare with plain updates of the same seed (--compression none): how much did the bytes cost?"
    if whole is not None:
        tenth = told["compression"] == "topk" and facts.run.params.get("keep")
        following = (
            f"Send a tenth of that (--keep {tenth / 10:.2g}): from where on does it cost more than it saves?"
            if isinstance(tenth, float)
            else "Send the largest hundredth of the values only (--compression topk --keep 0.01), and compare."
        )
    verdict = (
        "Compression cost bytes in place of saving them."
        if more
        else f"Compression sent {saving(told)} bytes for updates{came and f', and came to {came}'}{_price(facts)}."
    )
    places = " A value that is sent takes its place along, four bytes more." if told["compression"] == "topk" else ""
    return Finding(
        verdict,
        f"Updates were sent as {codec}: {words.size(told['bytes_updates'])} in all, where plain ones take "
        f"{words.size(told['bytes_plain'])}.{places}",
        "Take a smaller share of the values (--keep 0.1)." if more else following,
    )


def _silent(told: Mapping[str, Any]) -> Finding | None:
    rounds: Sequence[int] = told.get("silent") or []
    missing = sum(rounds)
    if not missing:
        return None
    asked = told["updates"] + missing
    why = f"{missing} of {words.count(asked, 'update')} did not come, because their institutions fell silent first"
    if told.get("seeds"):
        why += (
            f"; the others revealed {words.count(told['seeds'], 'seed')} of masks that they shared with them, and the "
            "sums of the rest came out exactly"
            if told.get("secure") == "masks"
            else f"; the others revealed {words.count(told['seeds'], 'seed')} of masks that they shared with them"
        )
    else:
        why += "; the others were averaged without them"
    return Finding(
        f"{words.capital(words.numbered('institution', [one + 1 for one, count in enumerate(rounds) if count]))} fell "
        "silent in some rounds.",
        f"{why}.",
        "Compare with everybody's updates (--silent 0) of the same seed: what is lost with those that are missing?",
    )


def _reached(facts: Facts) -> str:
    """What the federation came to on held-out images; nothing where that isn't known yet."""
    score = held_out(facts, "federated")
    return "" if score is None else f"{percent(score)} on held-out images"


def _price(facts: Facts) -> str:
    """What compression cost, against the same federation without it."""
    whole, reached = held_out(facts, "whole"), held_out(facts, "federated")
    if whole is None or reached is None:
        return ""
    if abs(whole - reached) <= margin(facts, whole, reached):
        return f", as plain updates do ({percent(whole)})"
    return f", {points(abs(whole - reached))} {'less' if whole > reached else 'more'} than with plain updates"
