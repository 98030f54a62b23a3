"""The page Three ways to learn: its studies, then attacks, leaks and protection."""

from __future__ import annotations

import streamlit as st

from workshop.registry import workloads
from workshop.report.failures import failures_of
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.web.pages import blocks, frame, predictions, studies
from workshop.web.pages.predictions import guided_failures
from workshop.web.pages.study_view import EVERY, live, read_cards, read_report
from workshop.workloads.federated.study.kind import ASKS, answer

INVERSION = (
    "Institutions send updates, not images. Does an update hide its image? A curious aggregator tries to reconstruct "
    "the image from an update."
)
SEGMENTATION = (
    "The same three ways with a U-Net that outlines tumours in synthetic scans of two channels, CT-like and PET-like; "
    "every institution has a scanner of its own. Its runs' pages draw the outlines over the images."
)
OPENFL = (
    "The same images, model and rounds as a federation of separate processes: an authority signs certificates, "
    "institutions and aggregator show them to each other, and speak over TLS. It needs an environment of its own, "
    "installed once, and takes some minutes; rounds arrive on its run's page."
)


def page() -> None:
    """Draw the page of three ways to learn, and the parts of the lab that follow them."""
    _further(studies.page(), frame.visitor())


def _further(session: SessionRecord | None, identity: Identity) -> None:
    """Draw the parts of the lab that follow the three ways."""
    st.markdown("### Further")
    with st.container(border=True, key="federated-attack"):
        st.markdown("#### :material/security: Attack and protect")
        guided_failures(session, identity, failures_of("federated", "openfl"))
    left_column, right_column = st.columns(2, gap="medium")
    with left_column, st.container(border=True, key="federated-inversion"):
        st.markdown("#### :material/image_search: What an update gives away")
        st.markdown(INVERSION)
        _commands(identity, "inversion", "workshop run inversion", "workshop run inversion --images 8")
    with right_column, st.container(border=True, key="federated-segmentation"):
        st.markdown("#### :material/radiology: Tumours in scans")
        st.markdown(SEGMENTATION)
        _commands(
            identity,
            "segmentation",
            "workshop run segmentation --way all",
            "workshop study run ways --workload segmentation --seeds 3",
            "workshop study run file labs/federated/studies/modalities.yaml",
        )
    with st.container(border=True, key="federated-openfl"):
        st.markdown("#### :material/vpn_key: A real federation, over OpenFL")
        st.markdown(OPENFL)
        start = "workshop federation start --collaborators 3"
        _commands(
            identity, "openfl", "workshop federation install  # once", start, "workshop federation status", form=False
        )


def _commands(identity: Identity, workload: str, *commands: str, form: bool = True) -> None:
    """Draw the newest run of a workload and a link to its form, and for the instructor commands to type."""
    if identity.role == "instructor":
        st.code("\n".join(commands), language="bash", wrap_lines=True)
    latest = frame.store().runs(workload=workload, limit=1)
    with st.container(horizontal=True):
        for run in latest:
            frame.run_link(run.id, f"Run {run.id} · {run.status}")
        if form and workload in workloads():
            frame.link("run", "Set one up", ":material/play_circle:", {"workload": workload})
    if not latest:
        st.caption("Nobody has run it yet.")
    elif latest[0].verdict:
        st.markdown(f"**{frame.plain(latest[0].verdict['verdict'])}**")


AGAINST = {"centralised": "Behind pooled images", "alone": "Above each alone"}
EXPLAIN = (
    "**Why federated learning comes close.** An update says in which direction the weights should go for an "
    "institution's images. Averaged over institutions, weighted by their images, that is nearly the direction for all "
    "images together, as long as nobody goes far before the next average.",
    "**Why alone looks good at home.** An institution that has few kinds of image has an easy task there, and its own "
    "validation images are as one-sided as those it learns from. Held-out images have all kinds.",
    "**What this doesn't show.** Updates are not images, but they are made of them: the parts below recover a digit "
    "from one, and then protect it.",
)


def view(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """Draw a study with predict, see and explain; its results arrive round by round."""
    with st.container(border=True, key="federated-predict"):
        # Its rounds are drawn before its first seed is done.
        begun = bool(frame.store().runs(study_id=study.id, limit=1))
        guesses = predictions.ask(f"study/{study.id}", ASKS, identity, measured=begun)
    if predictions.see(guesses):
        st.fragment(run_every=EVERY if live(study) else None)(_see)(study.id, identity)
        st.markdown("#### :material/lightbulb: Explain")
        st.markdown("\n\n".join(EXPLAIN))


def _see(study_id: int, identity: Identity) -> None:
    with blocks.errors():
        study = frame.store().study(study_id)
        report = read_report(study)
        if not report.seeds and report.now is None:
            st.caption("Nothing has been learned yet.")
            return
        answers, done = {other: answer(report, other) for other in ASKS}, report.study.finished_at is not None
        if done:
            predictions.score(ASKS, predictions.guesses_of(f"study/{study_id}", ASKS, identity), answers, AGAINST)
        blocks.show_page(read_cards(study), f"federated-{study_id}")
        if done and identity.role == "instructor":
            predictions.everybody(f"study/{study_id}", ASKS, answers)
