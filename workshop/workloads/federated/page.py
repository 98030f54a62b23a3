"""Federated: three ways to learn side by side, then what attacks, leaks and protects. `?study=3` is a link to one."""

import streamlit as st

from workshop.pages import frame
from workshop.pages.studies import chosen, follow, live
from workshop.workloads.federated import page_begin, page_further, page_prediction, page_study
from workshop.workloads.federated.study.plan import KIND

WORDS = (
    "Hospitals may not pool their patients' images, and none of them has enough alone. Here several institutions learn "
    "the same model in three ways: from **pooled** images, each **alone**, and **federated**, where they send what "
    "they have learned and keep the images. Predict how far apart the three come out, run them with several seeds, "
    "watch them round by round, and explain; then attack it, protect it, and run a real federation with keys and "
    "certificates."
)
RECENT = 20  # studies to choose from


def page() -> None:
    """Draw the page Federated."""
    identity = frame.heading("Federated", WORDS)
    session = frame.choose_session()
    studies = frame.store().studies(kind=KIND, limit=RECENT)
    study = chosen(studies, KIND, "three ways", "one of three ways")
    if study is None or st.query_params.get("new"):
        page_begin.form(session, identity)
    else:
        page_study.head(study, session, identity)
        if page_prediction.asked(study, identity):
            page_study.see(study, identity)
            page_study.explain()
        if not live(study):
            follow(study)
    page_further.show(session, identity)
