"""A pasted report of ranks, drawn and compared with the prediction."""

from __future__ import annotations

import streamlit as st

from workshop.core.errors import BadInput
from workshop.mpi import reports
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports import Read
from workshop.pages import frame
from workshop.placement_page import prediction
from workshop.placement_page.composition import Composition
from workshop.report.analysis.difference import AS_MEANT, Difference, aligned, difference, sentences
from workshop.report.panels.outcome import LEGEND

WHAT = """
Paste what your `mpirun` printed, with whatever stands around it: Open MPI's `--report-bindings` or
`--display map:parsable`, Intel MPI's `I_MPI_DEBUG=5` or `-print-rank-map`, MPICH's `HYDRA_TOPO_DEBUG=1`.
"""


def pasted(composed: Composition | None, predicted: Prediction | None) -> None:
    """Read a report and draw it."""
    st.markdown(WHAT)
    text = st.text_area("Report", key="place-report", height=220, max_chars=reports.LARGEST)
    if not text.strip():
        return
    try:
        read, other = _read(text, composed)
    except BadInput as error:
        st.error(frame.plain(str(error)))
        return
    st.markdown(f"#### {read.name}: {len(read.rank_map['ranks'])} ranks")
    if other:
        st.info(frame.plain(f"It is drawn as far as it tells of its machine, which is not the one above: {other}"))
    differences = _compared(read, predicted) if predicted is not None and not other else None
    if read.machine is None or not any(report["units"] for report in read.rank_map["ranks"]):
        hosts: dict[str, list[int]] = {}
        for report in read.rank_map["ranks"]:
            hosts.setdefault(report["host"], []).append(report["rank"])
        st.code(
            "\n".join(f"{host}: ranks {', '.join(map(str, ranks))}" for host, ranks in hosts.items()), language=None
        )
        return
    aligned_map = aligned(predicted.rank_map, read.rank_map) if differences and predicted is not None else None
    # A report tells nothing of threads: those of the placement count where it can be a report of that.
    comparable = not other and predicted is not None and predicted.rank_map is not None
    comparable = comparable and len(predicted.rank_map["ranks"]) == len(read.rank_map["ranks"])
    threads = composed.placement.threads_per_rank if composed is not None and comparable else 1
    prediction.picture(read.machine, read.rank_map, threads, "report", aligned_map)
    if aligned_map:
        st.caption(LEGEND)
    prediction.masks(read.rank_map, read.machine)


def _compared(read: Read, predicted: Prediction) -> list[Difference]:
    """The differences between report and prediction, which the page shows."""
    if predicted.rank_map is None:
        return []
    predicted_ranks, measured_ranks = len(predicted.rank_map["ranks"]), len(read.rank_map["ranks"])
    if predicted_ranks != measured_ranks:
        st.caption(
            f"The prediction above has {predicted_ranks} ranks; with {measured_ranks} the two could be compared."
        )
        return []
    if not any(report["units"] for report in read.rank_map["ranks"]):
        return []
    differences = difference(predicted.rank_map, read.rank_map, read.machine)
    if not differences:
        st.success(f"Against the prediction above: {AS_MEANT[0].lower()}{AS_MEANT[1:]}")
    for sentence in sentences(differences):
        st.warning(frame.plain(sentence))
    return differences


def _read(text: str, composed: Composition | None) -> tuple[Read, str]:
    """The report on the machine that is set above, or else on its own, with the reason. Raises BadInput."""
    if composed is None:
        return reports.read(text), ""
    alone = reports.read(text)  # errors in the text come first
    try:
        return reports.read(text, composed.described.machine), ""
    except BadInput as error:
        return alone, str(error)
