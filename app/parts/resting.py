"""A study that nobody works on just now: the page looks whether that has changed, which costs next to nothing."""

from __future__ import annotations

import streamlit as st
from parts import frame

from workshop.store.records import StudyRecord

EVERY = 3.0  # seconds between two looks


def follow(study: StudyRecord) -> None:
    """Draw the whole page anew as soon as somebody goes on with the study, or it has come further."""
    st.fragment(run_every=EVERY)(_look)(study.id, _state(study))


def _look(study_id: int, seen: tuple[object, ...]) -> None:
    if _state(frame.store().study(study_id)) != seen:
        st.rerun()


def _state(study: StudyRecord) -> tuple[object, ...]:
    return study.state, study.trials, study.done, study.failed, study.finished_at
