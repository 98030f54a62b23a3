"""Findings on transmission: the bytes that compression saved, the cost of masks, silent institutions, and masks that
were left in the sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.report.facts import FederationFacts, numbered

OPENFL = "OpenFL 1.9's own secure aggregation has this fault, too, where institutions are of unequal size."
_CODECS = {"topk": "their largest values", "8bit": "eight bits for each value"}

Sending = Mapping[str, Any]


def sent(metrics: Sending) -> Sending | None:
    """Return the metric `sending`; None without a federation, and before the first update."""
    sending = metrics.get("sending")
    return sending if isinstance(sending, Mapping) and sending.get("rounds") and sending.get("bytes_plain") else None


def broken(run: FederationFacts) -> Finding | None:
    """Return the finding of masks in the shared model, or of updates too large to be masked."""
    sending = sent(run.metrics)
    return (_uncancelled(run, sending) or _too_large(run, sending)) if sending is not None else None


def measured(run: FederationFacts) -> Finding | None:
    """Return the finding of masks or compression; None where updates were sent as they are."""
    sending = sent(run.metrics)
    if sending is None:
        return None
    findings = [
        finding for finding in (_hidden(sending), _compressed(run, sending), _silent(sending)) if finding is not None
    ]
    if not findings:
        return None
    return Finding(findings[0].verdict, " ".join(finding.why for finding in findings), findings[0].following)


def saving(sending: Sending) -> str:
    """Compare the bytes of updates with those of plain ones: "50 times fewer", "2 times as many"."""
    share = sending["bytes_updates"] / sending["bytes_plain"]
    if 0.95 < share < 1.05:
        return "as many"
    return f"{1 / share:.2g} times fewer" if share < 1 else f"{share:.2g} times as many"


def _uncancelled(run: FederationFacts, sending: Sending) -> Finding | None:
    rounds, after = sending.get("uncancelled") or 0, sending.get("too_few") or 0
    if not rounds:
        return None
    sizes, reached = [institution["images"] for institution in run.institutions.values()], _reached(run)
    unequal = ""
    if sizes and min(sizes) < max(sizes):
        unequal = f" (they have from {words.thousands(min(sizes))} to {words.thousands(max(sizes))})"
    accuracy = f"; the model came to {reached}" if reached else ""
    too_few = f"; in {after} more no three updates were numbers that can be masked" if after else ""
    return Finding(
        "The masks did not cancel, and the shared model is noise.",
        "Updates were masked first and weighted by images afterwards: a mask that one of a pair adds and the other "
        f"takes away is multiplied by another number at each{unequal}, and the difference stays in the sum. That was "
        f"so in {rounds} of {words.count(sending['rounds'], 'round')}{too_few}{accuracy}. {OPENFL}",
        "Let each institution multiply its update by its images before it is masked (--secure masks), and compare.",
    )


def _too_large(run: FederationFacts, sending: Sending) -> Finding | None:
    rounds = sending.get("too_large") or []
    if not any(rounds):
        return None
    return Finding(
        f"{numbered(_with_any(rounds))} had updates too large to be masked.",
        f"Masks are added to numbers of a fixed point, which hold values up to 16,384; "
        f"{words.count(sum(rounds), 'update')} had larger ones, as training that diverges has, and "
        f"{'were' if sum(rounds) > 1 else 'was'} left out.",
        run.smaller_rate,
    )


def _hidden(sending: Sending) -> Finding | None:
    if sending.get("secure") == "unequal" and not sending.get("uncancelled"):
        return Finding(
            "Masks that are weighted afterwards cancelled, because all weights were the same.",
            "Updates were masked first and weighted by images afterwards, which goes well only where all institutions "
            "have as many images.",
            "Give them unequal numbers of images (--partition unequal): what is left of the model then?",
        )
    if sending.get("secure") != "masks":
        return None
    each, plain = (words.size(sending[name] / max(sending["updates"], 1)) for name in ("bytes_updates", "bytes_plain"))
    seconds, few = sending.get("seconds_encoding"), sending.get("too_few") or 0
    cost = unopened = silence = ""
    if number(seconds) and seconds > 0:
        cost = (
            f"; agreeing on masks and adding them took rank 0 {words.seconds(seconds / sending['rounds'])} in a round"
        )
    if few:
        unopened = (
            f" In {words.count(few, 'round')} fewer than three updates came: the sum would have given somebody away, "
            "and was not opened."
        )
    if not any(sending.get("silent") or []):
        silence = "Let an institution fall silent after masks were agreed on (--silent 1). "
    return Finding(
        "No single update could be read: masks hid each, and cancelled in the sum.",
        f"An update took {each} to send, where a plain one takes {plain}{cost}.{unopened}",
        f"{silence}Weight updates after they were masked (--secure unequal): what does the sum come to then?",
    )


def _compressed(run: FederationFacts, sending: Sending) -> Finding | None:
    codec, top = _CODECS.get(str(sending.get("compression"))), sending.get("compression") == "topk"
    if codec is None:
        return None
    reached, keep = _reached(run), run.params.get("keep")
    if sending["bytes_updates"] > sending["bytes_plain"]:
        verdict, following = (
            "Compression cost bytes in place of saving them.",
            "Take a smaller share of the values (--keep 0.1).",
        )
    else:
        accuracy = reached and f", and came to {reached}"
        verdict = f"Compression sent {saving(sending)} bytes for updates{accuracy}{_price(run)}."
        following = "Compare with plain updates of the same seed (--compression none): how much did the bytes cost?"
        if run.uncompressed is not None and top and isinstance(keep, float):
            following = f"Send a tenth of that (--keep {keep / 10:.2g}): from where on does it cost more than it saves?"
        elif run.uncompressed is not None:
            following = "Send the largest hundredth of the values only (--compression topk --keep 0.01), and compare."
    places = " A value that is sent takes its place along, four bytes more." if top else ""
    return Finding(
        verdict,
        f"Updates were sent as {codec}: {words.size(sending['bytes_updates'])} in all, where plain ones take "
        f"{words.size(sending['bytes_plain'])}.{places}",
        following,
    )


def _silent(sending: Sending) -> Finding | None:
    rounds = sending.get("silent") or []
    missing = sum(rounds)
    if not missing:
        return None
    why = "the others were averaged without them"
    if sending.get("seeds"):
        why = f"the others revealed {words.count(sending['seeds'], 'seed')} of masks that they shared with them"
        why += ", and the sums of the rest came out exactly" if sending.get("secure") == "masks" else ""
    return Finding(
        f"{numbered(_with_any(rounds))} fell silent in some rounds.",
        f"{missing} of {words.count(sending['updates'] + missing, 'update')} did not come, because their institutions "
        f"fell silent first; {why}.",
        "Compare with everybody's updates (--silent 0) of the same seed: what is lost with those that are missing?",
    )


def _with_any(rounds: list[int]) -> list[int]:
    """Return the institutions, counted from 1, whose number of `rounds` isn't 0."""
    return [institution for institution, count in enumerate(rounds, 1) if count]


def _reached(run: FederationFacts) -> str:
    """Say the accuracy on held-out images; nothing before it is known."""
    return "" if run.reached is None else f"{percent(run.reached)} on held-out images"


def _price(run: FederationFacts) -> str:
    """Compare the accuracy with that of the same federation without compression, as the end of a sentence."""
    uncompressed, reached = run.uncompressed, run.reached
    if uncompressed is None or reached is None:
        return ""
    if run.tied(uncompressed, reached):
        return f", as plain updates do ({percent(uncompressed)})"
    direction = "less" if uncompressed > reached else "more"
    return f", {points(abs(uncompressed - reached))} {direction} than with plain updates"
