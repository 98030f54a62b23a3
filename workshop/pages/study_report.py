"""A study of any kind: how far it is, its cards as far as the visitor may see them, and a download."""

from __future__ import annotations

from typing import Any

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, cards, frame
from workshop.pages.studies import download, follow, left_words
from workshop.report.cards import Card
from workshop.report.sentences import waits_for
from workshop.store.records import Identity, StudyRecord
from workshop.study.cards import cards as cards_of
from workshop.study.cards import settings, visible
from workshop.study.kinds import Report, Sofar, any_report, expected, title

EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
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
        report, all_cards, total = read_report(study)
        if live and study.state != "running":
            st.rerun()  # the whole page once more, which no longer asks
        _progress(report, total)
        # A learner sees a prediction's outcome after a guess, or after a click on "show".
        all_ = identity.role == "instructor"
        visible_cards, why = (all_cards, "") if all_ else visible(frame.store(), identity.id, report, all_cards)
        if why:
            st.info(why)
        cards.show_page(visible_cards, f"study-{study.id}")
        if len(visible_cards) == len(all_cards):
            download(report, all_cards)


def read_report(study: StudyRecord) -> tuple[Any, list[Card], int]:
    """The report of a study, its cards, and its expected number of trials; made once for all visitors."""
    return _cached((study.id, study.created_at, study.state, study.trials, study.done, study.failed), study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _cached(state: tuple[object, ...], _study: StudyRecord) -> tuple[Report, list[Card], int]:
    report = any_report(frame.store(), _study)
    return report, cards_of(report), expected(_study, report.trials, report.runs)


def _progress(report: Report, total: int) -> None:
    """The study's title, its state and how far it is."""
    study = report.study
    parts = [STATE[study.state], f"{study.done} of {total} runs"]
    if study.state == "running":
        parts.append(left_words(Sofar(study, report.trials, report.runs)))
    if study_settings := settings(study):
        parts.append(frame.plain(study_settings))
    st.markdown(f"### {frame.plain(words.capital(title(study)))}\n\n{' · '.join(parts)}")
    if study.finished_at is None:
        st.progress(min(study.done / max(total, 1), 1.0))
    if waits := _waits(report):
        st.info(frame.plain(waits), icon=":material/hourglass_top:")
    if study.state == "interrupted":
        st.info(f"Nobody works on this study. It goes on with `workshop study resume {study.id}`.")


def _waits(report: Report) -> str:
    """For whom the study's run waits that is to be measured; "" where it doesn't."""
    queued = next((run for run in report.runs.values() if run.status == "queued"), None)
    return waits_for(frame.store().session(queued.session_id), queued) if queued is not None else ""
