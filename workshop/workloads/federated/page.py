"""Federated: three ways to learn side by side, then what attacks, leaks and protects. `?study=3` is a link to one."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from workshop.pages import cards, frame, links
from workshop.pages.studies import chosen, follow, live
from workshop.registry import workloads
from workshop.report.snapshot import Snapshot
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.workloads.federated import page_failures, page_prediction, page_study
from workshop.workloads.federated.study.plan import KIND

WORDS = (
    "Hospitals may not pool their patients' images, and none of them has enough alone. Here several institutions learn "
    "the same model in three ways: from **pooled** images, each **alone**, and **federated**, where they send what "
    "they have learned and keep the images. Predict how far apart the three come out, run them with several seeds, "
    "watch them round by round, and explain; then attack it, protect it, and run a real federation with keys and "
    "certificates."
)
RECENT = 20  # studies to choose from
PROTECTED = (
    ("One institution with wrong labels", "workshop run federated --attack flip"),
    ("One that multiplies its update, against the median", "workshop run federated --attack scale --rule median"),
    ("Masks that cancel in the sum", "workshop run federated --secure masks"),
    ("Noise, and its epsilon", "workshop run federated --privacy institutions"),
    ("A tenth of the values, and the bytes saved", "workshop run federated --compression topk --keep 0.1"),
)
INVERSION = (
    "Nobody sends images, only updates. Is a digit safe in one? A curious aggregator tries to make the image again "
    "that an update was made of."
)
SEGMENTATION = (
    "The same three ways with a U-Net that outlines tumours in synthetic scans of two channels, CT-like and PET-like; "
    "every institution has a scanner of its own. Its runs' pages lay what was found over the images."
)
OPENFL = (
    "The same images, model and rounds as a federation of separate processes: an authority signs certificates, "
    "institutions and aggregator show them to each other, and speak over TLS. It needs an environment of its own, "
    "installed once; rounds then arrive on its run's page, and beside the three ways above."
)


def page() -> None:
    """Draw the page Federated."""
    identity = frame.heading("Federated", WORDS)
    session = frame.choose_session()
    studies = frame.store().studies(kind=KIND, limit=RECENT)
    study = chosen(studies, KIND, "three ways", "one of three ways")
    if study is None or st.query_params.get("new"):
        page_study.form(session, identity)
    else:
        page_study.head(study, session, identity)
        if page_prediction.asked(study, identity):
            page_study.see(study, identity)
            page_study.explain()
        if not live(study):
            follow(study)
    _further(session, identity)


def _further(session: SessionRecord | None, identity: Identity) -> None:
    """All parts of the lab that follow."""
    st.markdown("### Further")
    with st.container(border=True, key="federated-attack"):
        st.markdown("#### :material/security: Attack and protect")
        page_failures.guided(session, identity)
        with st.expander("More to try: attacks, masks, noise, fewer bytes", icon=":material/terminal:"):
            for title, command in PROTECTED:
                st.markdown(title)
                st.code(command, language="bash", wrap_lines=True)
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True, key="federated-inversion"):
        st.markdown("#### :material/image_search: What an update gives away")
        st.markdown(INVERSION)
        _commands("inversion", "workshop run inversion", "workshop run inversion --protect clip-noise")
    with right, st.container(border=True, key="federated-segmentation"):
        st.markdown("#### :material/radiology: Tumours in scans")
        st.markdown(SEGMENTATION)
        _commands(
            "segmentation",
            "workshop run segmentation --way all",
            "workshop study run ways --workload segmentation --seeds 3",
            "workshop study run file labs/federated/studies/modalities.yaml",
        )
    with st.container(border=True, key="federated-openfl"):
        st.markdown("#### :material/vpn_key: A real federation, over OpenFL")
        st.markdown(OPENFL)
        start = "workshop federation start --backend openfl --collaborators 3"
        _commands("openfl", "workshop federation install  # once", start, "workshop federation status", form=False)


def _commands(workload: str, *commands: str, form: bool = True) -> None:
    """Commands to type, the newest run of a workload, and the way to its form."""
    st.code("\n".join(commands), language="bash", wrap_lines=True)
    latest = frame.store().runs(workload=workload, limit=1)
    with st.container(horizontal=True):
        for run in latest:
            links.run_link(run.id, f"Run {run.id} · {run.status}")
        if form and workload in workloads():
            links.link("run", "Set one up", ":material/play_circle:", {"workload": workload})
    if not latest:
        st.caption("Nobody has run it yet.")
    elif latest[0].verdict:
        st.markdown(f"**{frame.plain(latest[0].verdict['verdict'])}**")
    for run in latest:
        _pictures(run)


def _pictures(run: RunRecord) -> None:
    """What a run has kept to look at: the recovered digits, the outlined tumours."""
    snapshot = Snapshot(frame.store(), run)
    made = [card for panel in snapshot.own_panels if panel.section == "result" for card in panel.show(snapshot)]
    for card in made:
        if shown := tuple(part for part in card.parts if part["kind"] == "pictures"):
            cards.show(replace(card, title="", parts=shown), f"federated-{run.id}")
