"""Tuning: the article's path in nine steps, each with predict, run, see, explain. `?study=3&step=d` is a link."""

import streamlit as st

from workshop.pages import frame
from workshop.pages.studies import chosen, follow, live
from workshop.study.guided import page_begin, page_step, page_study
from workshop.study.guided.plan import KIND
from workshop.study.guided.steps import SOURCE, STEPS

WORDS = (
    "From a naive start to the machine's limit, one step after the other: predict what comes out, run it, see, "
    f"explain. After *{frame.plain(SOURCE)}*, on this machine."
)
RECENT = 20  # guided studies to choose from


def page() -> None:
    """Draw the page Tuning."""
    identity = frame.heading("Tuning", WORDS)
    session = frame.choose_session()
    studies = frame.store().studies(kind=KIND, limit=RECENT)
    study = chosen(studies, KIND, "these", "guided one")
    if study is None or st.query_params.get("new"):
        page_begin.form(session, identity)
        return
    page_study.head(study, session, identity)
    step = _step(study.id)
    st.query_params["step"] = step
    page_step.show(study.id, step, session, identity)
    if not live(study):  # learners don't start what they wait for
        follow(study)


def _step(study_id: int) -> str:
    """Buttons for the nine steps; returns the one that is picked."""
    names = {step.key: f"{step.key} {step.short}" for step in STEPS}
    wanted = st.query_params.get("step", "a")
    picked = st.pills(
        "Step",
        list(names),
        default=wanted if wanted in names else "a",
        format_func=lambda key: names[key],
        key=f"tuning-step-{study_id}",
        label_visibility="collapsed",
    )
    return picked or "a"
