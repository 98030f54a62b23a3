"""Sets of settings that guides recommend, each for any placement. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from workshop.core.placement import POLLING, Placement
from workshop.study.guided.placements import with_variables

AS_FOUND, INTEL, BINDING = "as found", "KMP_*, I_MPI_*", "other binding"
HOROVOD = ("short cycle", "no fusion")  # sets that only Horovod reads
# Sets of settings: the article's table isn't in its text, so these are ours. Its three variables are one of them.
_SETS: Mapping[str, Mapping[str, str]] = {
    INTEL: {"KMP_BLOCKTIME": "1", "KMP_AFFINITY": "granularity=fine,compact,1,0", "I_MPI_PIN_DOMAIN": "core"},
    "polling": {POLLING: "0"},
    HOROVOD[0]: {"HOROVOD_CYCLE_TIME": "0.1"},
    HOROVOD[1]: {"HOROVOD_FUSION_THRESHOLD": "0"},
}


def with_set(placement: Placement, name: str) -> Placement:
    """The placement with one of the sets of settings."""
    if name == BINDING:
        return placement.model_copy(update={"bind_to": "core" if placement.bind_to == "none" else "none"})
    return with_variables(placement, _SETS.get(name, {}))
