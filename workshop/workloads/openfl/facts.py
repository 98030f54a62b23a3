"""The facts of the verdict of a real federation."""

from __future__ import annotations

import re
from typing import Any

from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.analysis.scores import number
from workshop.workloads.federated.failures import openfl_fix
from workshop.workloads.openfl.workspace import PATIENCE

_INSTITUTION = re.compile(r"institution \d+")  # the party of a command; "a stranger" is a guest


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The authority of the accepted certificates, a refused one, an institution that was ended by a signal, and the
    model's scores; None for what the run doesn't tell."""
    metrics, certificates = facts.metrics, facts.metrics.get("certificates") or []
    accepted = [certificate for certificate in certificates if certificate["accepted"]]
    rounds, measure = metrics.get("rounds") or 0, str(metrics.get("measure") or "accuracy").lower()
    killed = (command["where"] for command in metrics.get("fx") or [] if (command["code"] or 0) < 0)
    held_out, own_images = (metrics.get(f"{on}_{measure}") for on in ("held_out", "own"))
    return {
        "authority": accepted[0]["issuer"] if accepted else None,
        "accepted": len(accepted),
        "refused": next((certificate for certificate in certificates if certificate["accepted"] is False), None),
        "died": next((where for where in killed if _INSTITUTION.fullmatch(where)), None),
        "fewest": min((about.get("took_part", rounds) for about in metrics.get("institutions") or []), default=0),
        "held_out": held_out if number(held_out) else None,
        "own_images": own_images if number(own_images) else None,
        "patience": PATIENCE,
        "fixes": {fault: openfl_fix(fault) for fault in ("foreign-certificate", "dies")},
    }
