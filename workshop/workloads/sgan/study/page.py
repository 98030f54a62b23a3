"""Tuning: the article's path in nine steps, each with predict, run, see, explain. `?study=3&step=d` is a link."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.pages import frame, studies
from workshop.registry import workload
from workshop.report.sentences import waiting
from workshop.store.records import Identity, SessionRecord
from workshop.study.guided import plan, trials
from workshop.study.trials import remaining
from workshop.workloads.sgan.study import page_step
from workshop.workloads.sgan.study.guide import GUIDE
from workshop.workloads.sgan.study.page_step import EVERY, WHERE, PathView

ABOUT = (
    "From a naive start to the machine's limit, one step after the other: predict what comes out, run it, see, "
    f"explain. After *{frame.plain(GUIDE.source)}*, on this machine."
)
RECENT = 20  # guided studies to choose from
SETTINGS = {False: "Quick", True: "Thorough"}
PROMISED = 15 * 60.0  # seconds that the quick setting may take on two cores
ASKED = ("data", "size")  # params of the workload that the form offers


def page() -> None:
    """Draw the page Tuning."""
    identity = frame.heading("Tuning", ABOUT)
    session = frame.choose_session()
    study = studies.chosen(frame.store().studies(kind=GUIDE.kind, limit=RECENT), GUIDE.kind, "these", "guided one")
    if study is None or st.query_params.get("new"):
        _form(session, identity)
        return
    going = studies.live(study)
    st.fragment(run_every=EVERY if going else None)(_head)(study.id, session, identity, going)
    step = _step(study.id)
    st.query_params["step"] = step
    page_step.show(study.id, step, session, identity)
    if not studies.live(study):  # learners don't start what they wait for
        studies.follow(study)


def _step(study_id: int) -> str:
    """Buttons for the nine steps; returns the one that is picked."""
    names = {step.key: f"{step.key} {step.short}" for step in GUIDE.steps}
    wanted = st.query_params.get("step", "a")
    picked = st.pills(
        "Step",
        list(names),
        default=wanted if wanted in names else "a",
        format_func=lambda key: names[key],
        key=f"tuning-step-{study_id}",
        label_visibility="collapsed",
    )
    return picked or "a"


# Beginning a study.


def _form(session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form: with which setting, and how long it will take; learners are told to wait."""
    if identity.role != "instructor":
        st.info("The instructor has not prepared the guided study yet.", icon=":material/hourglass_empty:")
        return
    with st.container(border=True, key="tuning-begin"):
        st.markdown("#### Prepare the guided study")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out of a step.")
        thorough = st.segmented_control(
            "Setting", list(SETTINGS), default=False, required=True, format_func=lambda one: SETTINGS[one]
        )
        try:
            setting = plan.plan_here(GUIDE, session, _given(), thorough=bool(thorough))
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
            return
        told = trials.expected(frame.store(), setting)
        promised = setting.quick and setting.cores <= 2 and told.seconds <= PROMISED
        promise = " That is at most a quarter of an hour." if promised else ""
        st.markdown(
            f"All nine steps: about **{told.runs} runs**, **{waiting(told.seconds)}** on this machine's "
            f"{words.count(setting.cores, 'core')} ({frame.plain(told.why)}).{promise} Steps can be run one by one."
        )
        if st.button("Prepare it", type="primary", icon=":material/route:"):
            studies.begin(lambda: plan.begin(frame.store(), setting.wanting(""), identity.nickname), identity)


def _given() -> dict[str, Any]:
    """What all trials have in common."""
    fields = workload(GUIDE.workload).params.model_fields
    given: dict[str, Any] = {}
    for name, column in zip(ASKED, st.columns(2), strict=False):
        extra = fields[name].json_schema_extra
        file = extra.get("file") if isinstance(extra, dict) else None
        options = list(file["choices"]) if isinstance(file, dict) else [28, 56, 112]
        with column:
            picked = st.selectbox(name.capitalize(), options, help=fields[name].description)
        if picked != fields[name].default:
            given[name] = picked
    return given


# The study as a whole.


def _head(study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    """How far the study is; drawn again every few seconds while it goes on."""
    try:
        now = page_step.seen(study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    study = now.report.study
    with studies.how_far(study, going, _far(now, going), study.done / max(now.total, 1), "tuning-head"):
        if identity.role == "instructor":
            _buttons(now, session, identity, going)
        elif not going:
            st.caption(WHERE)


def _far(now: PathView, going: bool) -> str:
    """Where the study is, in a line."""
    report, study = now.report, now.report.study
    done = sum(one.state == "done" for one in report.steps)
    said = [f"**Study {study.id}**, {report.setting.name}: {done} of {len(report.steps)} steps measured"]
    if going:
        said.append(f"run {study.done + 1} of {max(now.total, study.done + 1)}")
        if (trial := trials.going_on(report.found)) is not None:
            said.append(f"now {frame.plain(trial.label)}")
        seconds = remaining(report.trials, report.runs, time.time(), now.total)
        said.append(f"{waiting(now.left(report.setting.steps).seconds if seconds is None else seconds)} left")
        return f":blue[:material/sync:] {' · '.join(said)}"
    left = now.left()
    if left.runs:
        said.append(f"all that is missing: about {left.runs} runs, {waiting(left.seconds)}")
        return " · ".join(said)
    return f":green[:material/check_circle:] {said[0]}"


def _buttons(now: PathView, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    study_id = now.report.study.id
    with st.container(horizontal=True, vertical_alignment="center"):
        if going:
            studies.stop_button(study_id, identity)
            return
        if session is None or not session.up:
            st.markdown(frame.plain(frame.not_up(session)))
        elif now.left().runs and st.button("Run all that is missing", icon=":material/play_arrow:", key="tuning-all"):
            page_step.run(study_id, GUIDE.keys, session, identity)
        studies.begin_another("tuning-new")
