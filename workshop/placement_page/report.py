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
from workshop.report.panels.prediction import LEGEND

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
    found = _compared(read, predicted) if predicted is not None and not other else None
    if read.machine is None or not any(report["units"] for report in read.rank_map["ranks"]):
        hosts: dict[str, list[int]] = {}
        for report in read.rank_map["ranks"]:
            hosts.setdefault(report["host"], []).append(report["rank"])
        st.code(
            "\n".join(f"{host}: ranks {', '.join(map(str, ranks))}" for host, ranks in hosts.items()), language=None
        )
        return
    meant = aligned(predicted.rank_map, read.rank_map) if found and predicted is not None else None
    # A report tells nothing of threads: those of the placement count where it can be a report of that.
    alike = not other and predicted is not None and predicted.rank_map is not None
    alike = alike and len(predicted.rank_map["ranks"]) == len(read.rank_map["ranks"])
    threads = composed.placement.threads_per_rank if composed is not None and alike else 1
    prediction.picture(read.machine, read.rank_map, threads, "report", meant)
    if meant:
        st.caption(LEGEND)
    prediction.masks(read.rank_map, read.machine)


def _compared(read: Read, predicted: Prediction) -> list[Difference]:
    """What the report has otherwise than the prediction, said on the page."""
    if predicted.rank_map is None:
        return []
    meant, ran = len(predicted.rank_map["ranks"]), len(read.rank_map["ranks"])
    if meant != ran:
        st.caption(f"The prediction above has {meant} ranks; with {ran} the two could be compared.")
        return []
    if not any(report["units"] for report in read.rank_map["ranks"]):
        return []
    found = difference(predicted.rank_map, read.rank_map, read.machine)
    if not found:
        st.success(f"Against the prediction above: {AS_MEANT[0].lower()}{AS_MEANT[1:]}")
    for said in sentences(found):
        st.warning(frame.plain(said))
    return found


def _read(text: str, composed: Composition | None) -> tuple[Read, str]:
    """The report on the machine that is set above, or else on its own, with the reason. Raises BadInput."""
    if composed is None:
        return reports.read(text), ""
    alone = reports.read(text)  # what is wrong with the text is said first
    try:
        return reports.read(text, composed.described.machine), ""
    except BadInput as error:
        return alone, str(error)
