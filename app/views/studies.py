"""Studies: the list of them, and one as it goes on. `?study=3` is a link to one."""

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, frame, study_report
from workshop.store.records import StudyRecord
from workshop.study.kinds import example, expected, read, title

MOST = 100  # studies in the list


def page() -> None:
    identity = frame.heading("Studies")
    studies = frame.store().studies(limit=MOST)
    linked = blocks.linked("study", frame.store().study, "here are those there are")
    if not studies:
        st.info("No study yet. On the command line, this runs one:", icon=":material/info:")
        st.code(example(), language="bash")
        return
    begin = linked or studies[0]
    picked = blocks.pick(studies, [begin], COLUMNS, "studies", height=220)
    if picked:
        st.query_params["study"] = str(picked[0].id)
    study_report.show(picked[0] if picked else begin, identity)


def _runs(study: StudyRecord) -> str:
    """How many runs there are, and how many it takes in all; a study that goes on may want more than it has."""
    total = study.trials if study.finished_at else expected(study, *read(frame.store(), study.id))
    return f"{study.done} of {total}"


COLUMNS = {
    "Study": lambda study: study.id,
    "What": lambda study: words.capital(title(study)),
    "State": lambda study: study.state,
    "Runs": _runs,
    "Begun": lambda study: words.moment(study.created_at),
}
