"""A study on its page: its progress, its start and stop, and its report; a guided one step by step, each with predict,
run, see, explain. `?step=d` links to a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.extension import load
from workshop.registry import studies as kinds
from workshop.report.activity import ActivityReader
from workshop.report.cards import Card
from workshop.report.sentences import waits_for
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import export, runner
from workshop.study.cards import cards as cards_of
from workshop.study.cards import settings
from workshop.study.guided import plan
from workshop.study.guided.cards import step_cards
from workshop.study.guided.kind import Ask, GuidedReport, StepReport, ahead
from workshop.study.guided.kind import ask as question
from workshop.study.kinds import Report, Sofar, ahead_words, any_kind, expected, remaining_work, title
from workshop.study.trials import impossible, status
from workshop.web.pages import blocks, frame, predictions
from workshop.web.study_processes import RUNNERS
from workshop.web.templates import render

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


def live(study: StudyRecord) -> bool:
    """Whether it goes on, or is about to."""
    running = RUNNERS.find(study.id)
    return study.state == "running" or (running is not None and not running.ended)


def _stop_button(study_id: int, identity: Identity) -> None:
    """The button that stops what this dashboard runs, so that it can be resumed."""
    running = RUNNERS.find(study_id)
    if running is None or running.ended:
        st.caption("A command runs it; Ctrl-C there stops it.")
    elif running.stopping:
        st.caption("It pauses as soon as its run has ended.")
    elif st.button("Pause", icon=":material/pause_circle:", key="study-stop"):
        with blocks.errors():
            RUNNERS.stop(identity, study_id)
            st.rerun()


def _state(study: StudyRecord) -> tuple[object, ...]:
    return study.state, study.trials, study.done, study.failed, study.finished_at


def _download(study_id: int) -> None:
    """The report in files, as it is when somebody asks for one."""

    def page() -> bytes:
        study = frame.store().study(study_id)
        report = export.page(read_report(study), read_cards(study))
        return report.replace(
            "<body>", f"<body>{render('recording')}", 1
        ).encode()  # which says itself where it is from

    def data() -> bytes:
        return export.table(read_report(frame.store().study(study_id))).encode()

    name = f"study-{study_id}"
    blocks.download("Download as HTML", page, f"{name}.html", "text/html")
    blocks.download("Download its data as CSV", data, f"{name}.csv", "text/csv")


def read_report(study: StudyRecord) -> Any:
    """The report of a study, made once for all visitors; again every few seconds while the study goes on."""
    return _report(_key(study), study)


def read_cards(study: StudyRecord) -> list[Card]:
    """The cards of a study, made as rarely as its report."""
    return _cards_of(_key(study), study)


def _key(study: StudyRecord) -> tuple[object, ...]:
    return study.id, study.created_at, *_state(study), time.time() // (EVERY - 0.5) if live(study) else 0


@st.cache_resource(max_entries=16, show_spinner=False)
def _report(key: tuple[object, ...], _study: StudyRecord) -> Report:
    return any_kind(_study.kind).report(frame.store(), _study)


@st.cache_resource(max_entries=16, show_spinner=False)
def _cards_of(key: tuple[object, ...], _study: StudyRecord) -> list[Card]:
    return cards_of(read_report(_study))


def show(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """The study: its progress, then the view of its kind, or its cards. Drawn again every few seconds while it goes on,
    and as soon as somebody resumes it. The instructor runs it in the `session`."""
    going = live(study)
    every = EVERY if going else None
    st.fragment(run_every=every)(_head)(study.id, going, session, identity)
    view = any_kind(study.kind).view
    with blocks.errors():
        if view:
            load(view)(study, session, identity)
        else:
            st.fragment(run_every=every)(_cards)(study.id)
        if not view or identity.role == "instructor":  # a file hides nothing from those who haven't guessed
            _download(study.id)
    if not going:
        st.fragment(run_every=EVERY)(_look)(study.id, _state(study))


def _look(study_id: int, drawn_state: tuple[object, ...]) -> None:
    """Draw the whole page again as soon as a study has been continued, or has new results. The check costs next to
    nothing."""
    if _state(frame.store().study(study_id)) != drawn_state:
        st.rerun()


def _cards(study_id: int) -> None:
    with blocks.errors():
        blocks.show_page(read_cards(frame.store().study(study_id)), f"study-{study_id}")


def _head(study_id: int, going: bool, session: SessionRecord | None, identity: Identity) -> None:
    """The study's title, its state, how far it is and what that still takes; and the instructor's buttons. `going` is
    whether it went on when the page was drawn."""
    with blocks.errors():
        study = frame.store().study(study_id)
        if going and not live(study):
            st.rerun()  # the whole page once more, which no longer asks
        report = read_report(study)
        total = expected(report)
        with st.container(border=True, key="study-head"):
            parts = [STATE["running" if going else study.state], f"{study.done} of {total} runs"]
            if going or study.state in START:
                parts.append(_rest_words(report, going))
            if study_settings := settings(study):
                parts.append(frame.plain(study_settings))
            st.markdown(f"### {frame.plain(words.capital(title(study)))}\n\n{' · '.join(parts)}")
            if going:
                st.progress(min(study.done / max(total, 1), 1.0))
            running = RUNNERS.find(study.id)
            if running is not None and running.failed:
                st.error(f"It ended before it was done: {frame.plain(running.failed)}")
            if identity.role == "instructor":
                _buttons(report, going, session, identity)
            elif study.state in START:
                st.caption(WAITS)
        if activity := _waits(report):
            st.info(frame.plain(activity), icon=":material/hourglass_top:")


def _buttons(report: Report, going: bool, session: SessionRecord | None, identity: Identity) -> None:
    study = report.study
    with st.container(horizontal=True, vertical_alignment="center"):
        if going:
            _stop_button(study.id, identity)
            return
        label, ask = START.get(study.state, ""), lambda: 0
        failed = [trial for trial in report.trials if status(trial, report.runs) == "failed" and not impossible(trial)]
        if failed and study.finished_at is not None:
            label, ask = "Run what failed again", lambda: runner.renew_failed(frame.store(), study.id)
        if label and study.kind in kinds():
            run_button(label, study.id, session, identity, ask)
        if frame.recorded() is None and st.button("Begin another one", type="tertiary"):
            st.query_params["new"] = "1"
            st.rerun()


def run_button(
    label: str, study_id: int, session: SessionRecord | None, identity: Identity, ask: Callable[[], object]
) -> None:
    """The button that has missing runs run, after `ask` has said which are wanted; or why nothing can run now."""
    if session is None or not session.up:
        st.markdown(frame.not_up(session))
    elif st.button(label, type="primary", icon=":material/play_arrow:"):
        with blocks.errors():
            ask()
            RUNNERS.start(frame.store(), identity, study_id, session)
            st.rerun()


def _rest_words(sofar: Sofar, going: bool) -> str:
    """What a study lacks, and how long that is likely to take, in Markdown."""
    if sofar.study.kind not in kinds():
        return "what is missing is not known"
    if not going:
        return frame.plain(ahead_words(frame.store(), sofar))
    seconds = remaining_work(frame.store(), sofar).after(sofar.runs.values())
    return f"about {words.long(seconds)} left" if seconds >= SOON else "nearly done"


def _waits(report: Report) -> str:
    """Say what the study's run does, or for whom it waits where it is to be measured; "" otherwise."""
    if running := next((run for run in report.runs.values() if run.status == "running"), None):
        return f"Run {running.id}: {ActivityReader(frame.store()).words(running)}."
    queued = next((run for run in report.runs.values() if run.status == "queued"), None)
    return waits_for(frame.store().session(queued.session_id), queued) if queued is not None else ""


STEP_STATE = {
    "waiting": "Nobody has run it yet.",
    "partly": "Some of its runs are missing.",
    "done": "All of its runs are there.",
    "running": "It goes on.",
}


def view(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """Draw the steps, and the chosen one with its results as they arrive."""
    report: GuidedReport = read_report(study)
    key = st.query_params["step"] = _chosen(report)
    step_report, guide = report.step(key), report.step_results.guide
    step = step_report.step
    st.markdown(f"### {key}. {frame.plain(step.title)}\n\n{frame.plain(step.asks)}")
    means = (f"- **{frame.plain(name)}**: {frame.plain(meaning)}" for name, meaning in step.means.items())
    st.markdown("\n".join(means))
    every = EVERY if live(study) else None
    left_column, right_column = st.columns(2, gap="medium")
    with left_column, st.container(border=True, key=f"study-predict-{key}"):
        guesses = predictions.ask(
            f"study/{study.id}", _questions(report, key), identity, step_report.state != "waiting"
        )
    with right_column, st.container(border=True, key=f"study-run-{key}"):
        st.markdown("#### :material/play_circle: Run")
        st.fragment(run_every=every)(_run)(study.id, key, session, identity)
    if predictions.see(guesses):
        st.fragment(run_every=every)(_see)(study.id, key, identity)
    st.markdown("#### :material/lightbulb: Explain")
    if guesses:
        st.markdown(frame.plain(step.explain))
        if step_report.state == "waiting":  # else it stands with the figure
            st.markdown(f"**The {guide.reference}:** {frame.plain(f'{step.published} {guide.others}')}")
    st.caption(f"*{frame.plain(guide.source)}*")


def _chosen(report: GuidedReport) -> str:
    """Buttons for the steps; returns the letter of the one that is picked."""
    steps = {step.key: step for step in report.step_results.guide.steps}
    requested, first = st.query_params.get("step", ""), next(iter(steps))
    picked = st.pills(
        "Step",
        list(steps),
        default=requested if requested in steps else first,
        format_func=lambda key: f"{key} {steps[key].short}",
        key=f"step-{report.study.id}",
        label_visibility="collapsed",
    )
    return picked or first


def _questions(report: GuidedReport, key: str) -> dict[str, Ask]:
    return {key: question(report.step_results, key)}


def _now(study_id: int, key: str) -> tuple[GuidedReport, StepReport]:
    report: GuidedReport = read_report(frame.store().study(study_id))
    return report, report.step(key)


def _run(study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    report, step_report = _now(study_id, key)
    st.markdown(STEP_STATE[step_report.state])
    if step_report.state != "waiting":
        runs = {run for cell in step_report.cells for run in (*cell.runs, *cell.pruned_runs)}
        measured = f"{step_report.ended} of {len(step_report.cells)} settings measured"
        st.caption(f"{measured}, {words.count(len(runs), 'run')}.")
    if identity.role != "instructor":
        st.caption(WAITS)
    elif live(report.study):
        if step_report.state != "running":
            st.caption("Another part of the study goes on; stop it above, or wait.")
    elif step_report.runs_left:
        work, guide = ahead(frame.store(), report, key), report.step_results.guide
        st.markdown(f"It still takes {words.count(work.runs, 'run')}, about {words.long(work.seconds)}.")
        label = "Run this step" if step_report.state == "waiting" else "Run what is missing"
        run_button(label, study_id, session, identity, lambda: plan.ask_for(guide, frame.store(), study_id, key))


def _see(study_id: int, key: str, identity: Identity) -> None:
    report, step_report = _now(study_id, key)
    if step_report.state == "waiting":
        st.caption("Nothing has been measured yet.")
        return
    questions, answers, done = _questions(report, key), {key: step_report.answer}, step_report.state == "done"
    if done:
        predictions.score(questions, predictions.guesses_of(f"study/{study_id}", questions, identity), answers, {})
    blocks.show_page(step_cards(report, key, titled=False), f"study-{study_id}")
    if done and identity.role == "instructor":
        predictions.everybody(f"study/{study_id}", questions, answers)
