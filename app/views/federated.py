"""Federated: three ways to learn side by side, then what attacks, leaks and protects. `?study=3` is a link to one."""

import streamlit as st
from parts import federated, federated_begin, federated_further, federated_predict, frame, resting, tuning
from parts.chosen import chosen

from workshop.workloads.federated.study.plan import KIND

WORDS = (
    "Hospitals may not pool their patients' images, and none of them has enough alone. Here several institutions learn "
    "the same model in three ways: from **pooled** images, each **alone**, and **federated**, where they send what "
    "they have learned and keep the images. Predict how far apart the three come out, run them with several seeds, "
    "watch them round by round, and explain; then attack it, protect it, and run a real federation with keys and "
    "certificates."
)
RECENT = 20  # studies to choose from


def main() -> None:
    identity = frame.heading("Federated", WORDS)
    session = frame.choose_session()
    studies = frame.store().studies(kind=KIND, limit=RECENT)
    study = chosen(studies, KIND, "three ways", "one of three ways")
    if study is None or st.query_params.get("new"):
        federated_begin.form(session, identity)
    else:
        federated.head(study, session, identity)
        if federated_predict.asked(study, identity):
            federated.see(study, identity)
            federated.explain()
        if not tuning.live(study):
            resting.follow(study)
    federated_further.show(session, identity)


main()
