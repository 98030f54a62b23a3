"""Predict first: how far federated learning will be from pooled images and from each alone, and how near one came."""

from __future__ import annotations

import streamlit as st

from workshop.pages import blocks, frame
from workshop.pages.cards import FIGURE
from workshop.report.figures.guesses import guesses as drawn_guesses
from workshop.store.records import Identity, StudyRecord
from workshop.study.guided import guesses
from workshop.study.guided.guesses import SHOWN
from workshop.workloads.federated.study.guesses import ASKS, answer
from workshop.workloads.federated.study.kind import WaysReport

AGAINST = {"centralised": "Behind pooled images", "alone": "Above each alone"}


def asked(study: StudyRecord, identity: Identity) -> bool:
    """The questions, until somebody has answered them or rather looks; whether that is so."""
    kept = mine(study.id, identity)
    st.markdown("#### :material/psychology: Predict")
    with st.container(border=True, key="federated-predict"):
        if not kept:
            _form(study.id, identity)
        elif any(value is not None for value in kept.values()):
            for other, ask in ASKS.items():
                value = kept.get(other)
                said = guesses.said(ask, value) if value is not None else "nothing"
                st.markdown(f"{frame.plain(ask.question)} You guessed **{frame.plain(said)}**.")
        else:
            st.markdown("You looked without guessing.")
    if not kept:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    return bool(kept)


def mine(study_id: int, identity: Identity) -> dict[str, float | str | None]:
    """Somebody's guesses by what federated learning is compared with: None where they only looked; empty for
    neither."""
    found = {other: frame.store().guess(identity.id, guesses.about(study_id, other)) for other in ASKS}
    return {other: guesses.kept(guess.value) for other, guess in found.items() if guess is not None}


def _form(study_id: int, identity: Identity) -> None:
    with st.form(f"federated-guess-{study_id}", border=False):
        given = {
            other: st.number_input(
                f"{ask.question} [{ask.unit}]", ask.low, ask.high, None, ask.step, placeholder="your guess"
            )
            for other, ask in ASKS.items()
        }
        with st.container(horizontal=True):
            keep = st.form_submit_button("Keep my guess", type="primary", icon=":material/lock:")
            show_me = st.form_submit_button("Show me without guessing", type="tertiary")
    if show_me:
        _keep(study_id, identity, {other: {SHOWN: True} for other in ASKS})
    elif keep and any(value is None for value in given.values()):
        st.warning("Give both guesses first, however rough.")
    elif keep:
        with blocks.errors():
            checked = {other: {"guess": guesses.check(ASKS[other], value)} for other, value in given.items()}
            _keep(study_id, identity, checked)


def _keep(study_id: int, identity: Identity, values: dict[str, dict[str, object]]) -> None:
    for other, value in values.items():
        frame.store().keep_guess(identity.id, guesses.about(study_id, other), value)
    st.rerun()


def score(report: WaysReport, identity: Identity) -> None:
    """How near one came, once all seeds are there."""
    if report.study.finished_at is None:
        return
    for other, value in mine(report.study.id, identity).items():
        came = answer(report, other)
        if value is None or came is None:
            continue
        sentence = frame.plain(f"{AGAINST[other]}: {guesses.score(ASKS[other], value, came)}")
        if guesses.right(ASKS[other], value, came):
            st.success(sentence, icon=":material/check_circle:")
        else:
            st.warning(sentence, icon=":material/compare_arrows:")


def everybody(report: WaysReport) -> None:
    """What the class guessed, for the instructor, once all seeds are there."""
    told = {}
    for other in ASKS:
        kept = [guesses.kept(one.value) for one in frame.store().guesses(guesses.about(report.study.id, other))]
        told[other] = [guess for guess in kept if guess is not None]
    with st.expander(f"What the class guessed ({max(map(len, told.values()))})", icon=":material/groups:"):
        for other, ask in ASKS.items():
            came = answer(report, other)
            measured = "" if came is None else f" Measured: **{frame.plain(guesses.said(ask, came.value))}**."
            st.markdown(f"{frame.plain(ask.question)}{measured}")
            drawn = drawn_guesses(guesses.tally(ask, told[other]))
            st.plotly_chart(drawn, key=f"federated-class-{report.study.id}-{other}", **FIGURE)
