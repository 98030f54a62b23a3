"""Parts of pages that show studies: the choice of a study, its progress, its start and stop, and its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.registry import studies as kinds
from workshop.report.activity import ActivityReader
from workshop.report.cards import Card
from workshop.report.sentences import waits_for
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import export, runner
from workshop.study.cards import cards as cards_of
from workshop.study.cards import settings, visible
from workshop.study.estimate import ahead_words, remaining_work
from workshop.study.kinds import Report, Sofar, any_report, expected, title
from workshop.study.trials import impossible, status
from workshop.web import actions
from workshop.web.pages import blocks, cards, frame
from workshop.web.study_processes import RUNNERS

EVERY = 3.0  # seconds between two looks at a study; all visitors share a look
SOON = 5.0  # seconds that are not worth telling
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


def chosen(studies: Sequence[StudyRecord], kind: str, other: str, newest: str) -> StudyRecord | None:
    """`?study=`, or the newest of `studies`, which come first.

    Where `?study=` is of another kind, the page says that the study is none of the `other`; where there is no such
    study, it says that this is the `newest` one.
    """
    study = blocks.linked("study", frame.store().study, f"here is the newest {newest}")
    if study is not None and study.kind == kind:
        return study
    if study is not None:
        st.warning(f"Study {study.id} is none of {other}; the page Scaling and studies shows it.")
    return studies[0] if studies else None


def live(study: StudyRecord) -> bool:
    """Whether it goes on, or is about to."""
    running = RUNNERS.find(study.id)
    return study.state == "running" or (running is not None and not running.ended.is_set())


def begin(keep: Callable[[], StudyRecord], identity: Identity, session: SessionRecord | None = None) -> None:
    """Have a prepared study kept, start it where a `session` is given, and show it."""
    with blocks.errors():
        actions.only_instructor(identity)
        study = keep()
        st.query_params["study"] = str(study.id)
        st.query_params.pop("new", None)
        if session is not None:
            RUNNERS.start(frame.store(), identity, study.id, session)
        st.rerun()


def head(
    study: StudyRecord,
    name: str,
    text: str,
    share: float,
    session: SessionRecord | None,
    identity: Identity,
    going: bool,
    label: str,
    waits: str,
    ask: Callable[[], object] = lambda: None,
) -> None:
    """The progress of a study that a class predicts, in Markdown, and the instructor's buttons; others read `waits`.

    `going` is whether the study went on when the page was drawn. `label` is on the button that runs what is missing;
    empty: nothing is.
    """
    if going and not live(study):
        st.rerun()  # the whole page once more, which no longer asks
    with st.container(border=True, key=f"{name}-head"):
        st.markdown(text)
        if going:
            st.progress(min(share, 1.0))
        running = RUNNERS.find(study.id)
        if running is not None and running.failed:
            st.error(f"It ended before it was done: {frame.plain(running.failed)}")
        if identity.role != "instructor":
            if not going:
                st.caption(waits)
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            if going:
                stop_button(study.id, identity)
                return
            if label and (session is None or not session.up):
                st.markdown(frame.not_up(session))
            elif label and st.button(label, type="primary", icon=":material/play_arrow:", key=f"{name}-run"):
                assert session is not None
                run(study.id, session, identity, ask)
            if not frame.recorded() and st.button("Begin another one", type="tertiary", key=f"{name}-new"):
                st.query_params["new"] = "1"
                st.rerun()


def run(study_id: int, session: SessionRecord, identity: Identity, ask: Callable[[], object] = lambda: None) -> None:
    """Have the runs that are missing run, after `ask` has said which are wanted; the page then follows."""
    with blocks.errors():
        actions.only_instructor(identity)
        if live(frame.store().study(study_id)):  # another instructor was faster
            raise BadInput(f"Study {study_id} goes on already.")
        ask()
        RUNNERS.start(frame.store(), identity, study_id, session)
        st.rerun()


def stop_button(study_id: int, identity: Identity) -> None:
    """The button that stops what this dashboard runs, so that it can be resumed."""
    running = RUNNERS.find(study_id)
    if running is None or running.ended.is_set():
        st.caption("A command runs it; Ctrl-C there stops it.")
    elif running.stopping:
        st.caption("It pauses as soon as its run has ended.")
    elif st.button("Pause", icon=":material/pause_circle:", key="study-stop"):
        with blocks.errors():
            RUNNERS.stop(identity, study_id)
            st.rerun()


def follow(study: StudyRecord) -> None:
    """Draw the whole page again as soon as a study has been continued, or has new results.

    The check costs next to nothing.
    """
    st.fragment(run_every=EVERY)(_look)(study.id, _state(study))


def _look(study_id: int, drawn_state: tuple[object, ...]) -> None:
    if _state(frame.store().study(study_id)) != drawn_state:
        st.rerun()


def _state(study: StudyRecord) -> tuple[object, ...]:
    return study.state, study.trials, study.done, study.failed, study.finished_at


def download(report: Report, cards: Sequence[Card]) -> None:
    """The report as one file."""
    study = report.study.id
    page = f"study-{study}.html"
    blocks.download("Download as HTML", lambda: frame.marked(export.page(report, cards)), page, "text/html")
    data = f"study-{study}.csv"
    blocks.download("Download its data as CSV", lambda: export.table(report).encode(), data, "text/csv")


def ahead(sofar: Sofar) -> str:
    """How many runs a study lacks, and how long they are likely to take, in Markdown."""
    if sofar.study.kind not in kinds():
        return "what is missing is not known"
    return frame.plain(ahead_words(frame.store(), sofar))


def left_words(sofar: Sofar) -> str:
    """How long what a study lacks is likely to take, and why that is another time than was said at first."""
    if sofar.study.kind not in kinds():
        return "the time left is not known"
    ahead = remaining_work(frame.store(), sofar)
    seconds = ahead.after(sofar.runs.values())
    sentence = f"about {words.long(seconds)} left" if seconds >= SOON else "nearly done"
    return f"{sentence} ({frame.plain(ahead.changed)})" if ahead.changed else sentence


def show_study(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
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
    note = WAITS if study.state in START else ""
    share = study.done / max(total, 1)
    head(study, "study", text, share, session, identity, going, label if study.kind in kinds() else "", note, ask)
    if activity := _waits(report):
        st.info(frame.plain(activity), icon=":material/hourglass_top:")


def _waits(report: Report) -> str:
    """Say what the study's run does, or for whom it waits where it is to be measured; "" otherwise."""
    if running := next((run for run in report.runs.values() if run.status == "running"), None):
        return f"Run {running.id}: {ActivityReader(frame.store()).words(running)}."
    queued = next((run for run in report.runs.values() if run.status == "queued"), None)
    return waits_for(frame.store().session(queued.session_id), queued) if queued is not None else ""
