"""The mapper's answer for a placement: the predicted rank map as a picture and as masks, or the reason why it is
refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from workshop.core import topology, words
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.mpi import mapper
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports.masks import mask
from workshop.pages import frame
from workshop.pages.cards import FIGURE
from workshop.placement_page import composition
from workshop.placement_page.composition import Composition
from workshop.report.analysis.oversubscription import oversubscription
from workshop.report.figures.machine import machine_picture, sharing_words
from workshop.server import limits, worker_gate
from workshop.server.limits import TooManyRequests, Who
from workshop.store.records import Identity

LONGEST = 5.0  # seconds for one answer: whoever asks about the largest machines keeps a processor busy as long
PATIENCE = 4 * LONGEST  # seconds to wait for one's turn
MOST_UNITS = 1024  # processing units that a picture has room for
NOTATION = """Open MPI's notation: brackets are packages, / stands between cores, each letter is a hardware thread,
and B is where the rank may run."""
LISTED = 48  # ranks that are listed as masks


def predict(composed: Composition, identity: Identity) -> Prediction:
    """The mapper's answer, or in its note why it gave none."""
    try:
        return _predict(composed.placement.model_dump_json(), composed.machine, limits.shared().who(identity))
    except TooManyRequests as error:
        return Prediction(note=str(error))


@st.cache_data(max_entries=512, ttl=60, show_spinner="Asking the mapper …")
def _predict(placement: str, machine: str, _who: Who) -> Prediction:
    """Ask the mapper once for everybody with the same question. Its failure is kept, too, because it may have taken
    long. Raises TooManyRequests."""
    where, described = Placement.model_validate_json(placement), composition.read_machine(machine)
    try:
        return worker_gate.gate().wait(_who, lambda: mapper.predict(where, described, LONGEST), PATIENCE)
    except TooManyRequests:
        raise  # isn't kept for others
    except WorkshopError as error:
        return Prediction(note=str(error))


def show(composed: Composition, predicted: Prediction) -> None:
    """The rank map, or why there is none."""
    if predicted.refused is not None:
        _refused(predicted)
    if predicted.note:
        st.info(frame.plain(predicted.note), icon=":material/info:")
    if predicted.rank_map is None or predicted.machine is None:
        return
    crowds = oversubscription(predicted.rank_map, predicted.machine, composed.placement.threads_per_rank)
    for sentence in sharing_words(crowds[:4]):
        st.warning(frame.plain(sentence), icon=":material/group:")
    picture(predicted.machine, predicted.rank_map, composed.placement.threads_per_rank, "predicted")
    masks(predicted.rank_map, predicted.machine)


def _refused(predicted: Prediction) -> None:
    """Why, most often in the MPI's own words, and changes that it takes, a click away."""
    in_own_words = ", in its own words" if predicted.own_words else ""
    st.error(f"The MPI refuses this placement{in_own_words}:", icon=":material/block:")
    st.code(predicted.refused, language=None, wrap_lines=True)
    if predicted.advice:
        st.markdown(f"**{frame.plain(predicted.advice)}**")
    with st.container(horizontal=True):
        for number, change in enumerate(predicted.changes):
            label = f"{words.capital(frame.plain(change.words.partition(' (')[0]))}"
            st.button(label, key=f"change-{number}", on_click=composition.take, args=(change.placement,))


def picture(
    machine: Mapping[str, Any],
    rank_map: Mapping[str, Any],
    threads: int,
    key: str,
    predicted_map: Mapping[str, Any] | None = None,
) -> None:
    """The machine with its ranks: as many hosts as there is room for."""
    hosts = topology.machines(machine)
    drawable, units = [], 0
    for host_machine in hosts.values():
        units += len(host_machine["units"])
        if units > MOST_UNITS:
            break
        drawable.append({name: value for name, value in host_machine.items() if name != "more"})
    if not drawable:
        st.caption(f"A host with {units} hardware threads is too large to be drawn; up to {MOST_UNITS} are.")
        return
    names = {host_machine["host"] for host_machine in drawable}
    ranks = [report for report in rank_map["ranks"] if report["host"] in names]
    figure = machine_picture(topology.together(drawable), {**rank_map, "ranks": ranks}, threads, predicted_map)
    with st.container(key=f"machine-{key}"):
        st.plotly_chart(figure, key=f"picture-{key}", **FIGURE)
    if len(drawable) < len(hosts):
        st.caption(f"These are {len(drawable)} of {len(hosts)} hosts.")


def masks(rank_map: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    """Open MPI 4's notation, a line for each rank."""
    ranks = rank_map["ranks"]
    wide = max(len(str(report["host"])) for report in ranks)
    digits = len(str(len(ranks) - 1))
    lines = [
        f"rank {report['rank']:>{digits}}  {report['host']:<{wide}}  {mask(report, machine)}"
        for report in ranks[:LISTED]
        if report["units"]
    ]
    if not lines:
        return
    more = f"\nand {len(ranks) - LISTED} more ranks" if len(ranks) > LISTED else ""
    st.markdown("**As masks**", help=NOTATION)
    st.code("\n".join(lines) + more, language=None)
