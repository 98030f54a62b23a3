"""The view of a guided study, each step with predict, run, see, explain. `?step=d` links to a step."""

from __future__ import annotations

import streamlit as st

from workshop.core import words
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study.guided import plan
from workshop.study.guided.cards import step_cards
from workshop.study.guided.guesses import Ask
from workshop.study.guided.guesses import ask as question
from workshop.study.guided.kind import GuidedReport, StepReport, expected
from workshop.web.pages import cards, frame, predictions
from workshop.web.pages.study_view import EVERY, WAITS, live, read_report, run_button

STATE = {
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
    st.markdown(STATE[step_report.state])
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
        ahead, guide = expected(frame.store(), report.setting.wanting(key), report), report.step_results.guide
        st.markdown(f"It still takes {words.count(ahead.runs, 'run')}, about {words.long(ahead.seconds)}.")
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
    cards.show_page(step_cards(report, key, titled=False), f"study-{study_id}")
    if done and identity.role == "instructor":
        predictions.everybody(f"study/{study_id}", questions, answers)
