"""Studies: the list of them, and one as it goes on. `?study=3` is a link to one, `?new=1` to the form of a new one."""

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, frame, links, study_form, study_report
from workshop.pages.studies import live
from workshop.store.records import Identity, SessionRecord
from workshop.study.kinds import expected_runs, title

MOST = 100  # studies in the list
WORDS = "A study runs a workload several times under different conditions, and compares what comes out."


def page() -> None:
    identity = frame.heading("Studies", WORDS)
    studies = frame.store().studies(limit=MOST)
    linked = blocks.linked("study", frame.store().study, "here are those there are")
    session = frame.choose_session() if identity.role == "instructor" else None
    if not studies or st.query_params.get("new"):
        _begin(session, identity, bool(studies))
        return
    begin = linked or studies[0]
    # Another newest study moves all rows: the table of before would pick another one.
    picked = blocks.pick(studies, [begin], COLUMNS, f"studies-{studies[0].id}-{begin.id}", height=220)
    study = picked[0] if picked else begin
    st.query_params["study"] = str(study.id)
    study_report.show(study, session, identity)


def _begin(session: SessionRecord | None, identity: Identity, back: bool) -> None:
    """The instructor's form; others read who prepares studies, and where they can go on."""
    if identity.role == "instructor" and frame.recorded() is None:
        if back and st.button("Back to the studies", type="tertiary", icon=":material/arrow_back:"):
            st.query_params.pop("new")
            st.rerun()
        study_form.form(session, identity)
        return
    st.info("No study yet. The instructor prepares it; it then appears here.", icon=":material/hourglass_empty:")
    links.link("run", "Meanwhile, run a workload once", ":material/play_circle:")


COLUMNS = {
    "Study": lambda study: study.id,
    "What": lambda study: words.capital(title(study)),
    "State": lambda study: "running" if live(study) else study.state,
    # A study that goes on may want more runs than it has.
    "Runs": lambda study: f"{study.done} of {expected_runs(frame.store(), study)}",
    "Begun": lambda study: words.moment(study.created_at),
}
