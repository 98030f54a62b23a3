"""A study of any kind: how far it is, its cards as far as the visitor may see them, and a download."""

from __future__ import annotations

import time

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, cards, frame
from workshop.pages.studies import download, follow
from workshop.report.cards import Card
from workshop.report.sentences import waiting
from workshop.store.records import Identity, StudyRecord
from workshop.study.cards import cards as cards_of
from workshop.study.cards import settings, visible
from workshop.study.kinds import Report, any_report, expected, title
from workshop.study.trials import remaining

EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
SOON = 5.0  # seconds that are not worth telling
STATE = {
    "running": ":blue[:material/sync:] goes on",
    "interrupted": ":orange[:material/pause_circle:] interrupted",
    "completed": ":green[:material/check_circle:] completed",
    "failed": ":red[:material/error:] failed",
    "recorded": ":gray[:material/history:] recorded",
}


def show(study: StudyRecord, identity: Identity) -> None:
    """The study; drawn again every few seconds while it goes on, and as soon as somebody resumes it."""
    every = EVERY if study.state == "running" else None
    st.fragment(run_every=every)(_study)(study.id, every is not None, identity)
    if study.state == "interrupted":
        follow(study)


def _study(study_id: int, live: bool, identity: Identity) -> None:
    with blocks.errors():
        study = frame.store().study(study_id)
        found, shown, total = _found((study.id, study.created_at, study.state, study.done, study.failed), study)
        if live and study.state != "running":
            st.rerun()  # the whole page once more, which no longer asks
        _progress(found, total)
        # A learner sees a prediction's outcome after a guess, or after a click on "show".
        all_ = identity.role == "instructor"
        mine, why = (shown, "") if all_ else visible(frame.store(), identity.id, found, shown)
        if why:
            st.info(why)
        cards.show_page(mine, f"study-{study.id}")
        if len(mine) == len(shown):
            download(found, shown)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _found(state: tuple[object, ...], _study: StudyRecord) -> tuple[Report, list[Card], int]:
    """What a study in this state has found, its cards, and how many trials it will have; made once for all visitors."""
    found = any_report(frame.store(), _study)
    return found, cards_of(found), expected(_study, found.trials, found.runs)


def _progress(found: Report, total: int) -> None:
    """The study's title, its state and how far it is."""
    study = found.study
    told = [STATE[study.state], f"{study.done} of {total} runs"]
    left = remaining(found.trials, found.runs, time.time(), total) if study.state == "running" else None
    if left is not None:
        told.append(f"{waiting(left)} left" if left >= SOON else "nearly done")
    if known := settings(study):
        told.append(frame.plain(known))
    st.markdown(f"### {frame.plain(words.capital(title(study)))}\n\n{' · '.join(told)}")
    if study.finished_at is None:
        st.progress(min(study.done / max(total, 1), 1.0))
    if study.state == "interrupted":
        st.info(f"Nobody works on this study. It goes on with `workshop study resume {study.id}`.")
