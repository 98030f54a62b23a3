"""A study of any kind: how far it is, its cards as far as the visitor may see them, and a download."""

from __future__ import annotations

from typing import Any

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, cards, frame
from workshop.pages.studies import ahead, download, follow, head, left_words, live
from workshop.registry import studies as kinds
from workshop.report.activity import ActivityReader
from workshop.report.cards import Card
from workshop.report.sentences import waits_for
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import runner
from workshop.study.cards import cards as cards_of
from workshop.study.cards import settings, visible
from workshop.study.kinds import Report, any_report, expected, title
from workshop.study.trials import impossible, status

EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
STATE = {
    "prepared": ":gray[:material/bookmark:] prepared",
    "running": ":blue[:material/sync:] goes on",
    "interrupted": ":orange[:material/pause_circle:] interrupted",
    "completed": ":green[:material/check_circle:] completed",
    "failed": ":red[:material/error:] failed",
    "recorded": ":gray[:material/history:] recorded",
}
START = {"prepared": "Start it", "interrupted": "Resume it"}
WAITS = "The instructor starts its runs; what comes out appears here by itself."


def show(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """The study; drawn again every few seconds while it goes on, and as soon as somebody resumes it. The instructor
    runs it in the `session`."""
    going = live(study)
    st.fragment(run_every=EVERY if going else None)(_study)(study.id, going, session, identity)
    if not going and study.state in START:
        follow(study)


def _study(study_id: int, going: bool, session: SessionRecord | None, identity: Identity) -> None:
    with blocks.errors():
        study = frame.store().study(study_id)
        report, all_cards, total = read_report(study)
        _head(report, total, going, session, identity)
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
    return report, cards_of(report), expected(report)


def _head(report: Report, total: int, going: bool, session: SessionRecord | None, identity: Identity) -> None:
    """The study's title, its state, how far it is and what that still takes; and the instructor's buttons."""
    study = report.study
    parts = [STATE["running" if going else study.state], f"{study.done} of {total} runs"]
    if going:
        parts.append(left_words(report))
    elif study.state in START:
        parts.append(ahead(report))
    if study_settings := settings(study):
        parts.append(frame.plain(study_settings))
    text = f"### {frame.plain(words.capital(title(study)))}\n\n{' · '.join(parts)}"
    label, ask = START.get(study.state, ""), lambda: 0
    failed = [trial for trial in report.trials if status(trial, report.runs) == "failed" and not impossible(trial)]
    if failed and study.finished_at is not None:
        label, ask = "Run what failed again", lambda: runner.renew_failed(frame.store(), study.id)
    waits = WAITS if study.state in START else ""
    share = study.done / max(total, 1)
    head(study, "study", text, share, session, identity, going, label if study.kind in kinds() else "", waits, ask)
    if waits := _waits(report):
        st.info(frame.plain(waits), icon=":material/hourglass_top:")


def _waits(report: Report) -> str:
    """Say what the study's run does, or for whom it waits where it is to be measured; "" otherwise."""
    if running := next((run for run in report.runs.values() if run.status == "running"), None):
        return f"Run {running.id}: {ActivityReader(frame.store()).words(running)}."
    queued = next((run for run in report.runs.values() if run.status == "queued"), None)
    return waits_for(frame.store().session(queued.session_id), queued) if queued is not None else ""
