"""Tuning: the article's path in nine steps, each with predict, run, see, explain. `?study=3&step=d` is a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.pages import cards, frame, links, predictions, studies
from workshop.registry import workload
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import runner
from workshop.study.estimate import Remaining
from workshop.study.guided import plan
from workshop.study.guided.guesses import Ask
from workshop.study.guided.guesses import ask as question
from workshop.study.guided.kind import GuidedReport, by_step, expected, going_on, guided_report, total
from workshop.study.kinds import Sofar
from workshop.workloads.sgan.study.cards import step_cards
from workshop.workloads.sgan.study.guide import GUIDE

ABOUT = (
    "From a naive start to the machine's limit, one step after the other: predict what comes out, run it, see, "
    f"explain. After *{frame.plain(GUIDE.source)}*, on this machine."
)
RECENT = 20  # guided studies to choose from
SETTINGS = {False: "Quick", True: "Thorough"}
PROMISED = 15 * 60.0  # seconds that the quick setting may take on two cores
OFFERED = ("data", "size")  # params of the workload that the form offers


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
    show(study.id, step, session, identity)
    if not studies.live(study):  # learners wait for a study that the instructor starts
        studies.follow(study)


def _step(study_id: int) -> str:
    """Buttons for the nine steps; returns the one that is picked."""
    names = {step.key: f"{step.key} {step.short}" for step in GUIDE.steps}
    requested = st.query_params.get("step", "a")
    picked = st.pills(
        "Step",
        list(names),
        default=requested if requested in names else "a",
        format_func=lambda key: names[key],
        key=f"tuning-step-{study_id}",
        label_visibility="collapsed",
    )
    return picked or "a"


# Beginning a study.


def _form(session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form, with the setting and the estimated time; learners see a message."""
    if identity.role != "instructor":
        links.unprepared("the guided study", GUIDE.workload, GUIDE.workload)
        return
    with st.container(border=True, key="tuning-begin"):
        st.markdown("#### Prepare the guided study")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out of a step.")
        thorough = st.segmented_control(
            "Setting", list(SETTINGS), default=False, required=True, format_func=lambda thorough: SETTINGS[thorough]
        )
        try:
            setting = plan.plan_here(GUIDE, session, _common_params(), thorough=bool(thorough))
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
            return
        estimate = expected(frame.store(), setting)
        promised = setting.quick and setting.cores <= 2 and estimate.seconds <= PROMISED
        promise = " That is at most a quarter of an hour." if promised else ""
        st.markdown(
            f"All nine steps: about **{estimate.runs} runs**, **{words.long(estimate.seconds)}** on this machine's "
            f"{words.count(setting.cores, 'core')} ({frame.plain(estimate.why)}).{promise} Steps can be run one by one."
        )
        if st.button("Prepare it", type="primary", icon=":material/route:"):
            studies.begin(lambda: runner.begin(frame.store(), setting.wanting(""), identity.nickname), identity)


def _common_params() -> dict[str, Any]:
    """The params that all trials share."""
    fields = workload(GUIDE.workload).params.model_fields
    params: dict[str, Any] = {}
    for name, column in zip(OFFERED, st.columns(2), strict=False):
        extra = fields[name].json_schema_extra
        file: Any = extra.get("file") if isinstance(extra, dict) else None
        options: list[Any] = list(file["choices"]) if file else [28, 56, 112]
        with column:
            picked = st.selectbox(name.capitalize(), options, help=fields[name].description)
        if picked != fields[name].default:
            params[name] = picked
    return params


# The study as a whole.


def _head(study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    """The progress of the study, refreshed every few seconds while it goes on."""
    try:
        now = view(study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    study = now.report.study
    label = "Run all that is missing" if now.remaining().runs else ""
    studies.head(
        study,
        "tuning",
        _far(now, going),
        study.done / max(now.total, 1),
        session,
        identity,
        going,
        label,
        WHERE,
        lambda: plan.ask_for(GUIDE, frame.store(), study_id, GUIDE.keys),
    )


def _far(now: PathView, going: bool) -> str:
    """The state of the study, in a line."""
    report, study = now.report, now.report.study
    done = sum(step_report.state == "done" for step_report in report.steps)
    parts = [f"**Study {study.id}**, {report.setting.name}: {done} of {len(report.steps)} steps measured"]
    if going:
        parts.append(f"run {study.done + 1} of {max(now.total, study.done + 1)}")
        if (trial := going_on(report.step_results)) is not None:
            parts.append(f"now {frame.plain(trial.label)}")
        parts.append(studies.left_words(Sofar(study, report.trials, report.runs)))
        return f":blue[:material/sync:] {' · '.join(parts)}"
    missing = now.remaining()
    if missing.runs:
        parts.append(f"all that is missing: about {missing.runs} runs, about {words.long(missing.seconds)}")
        return " · ".join(parts)
    return f":green[:material/check_circle:] {parts[0]}"


EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
WHERE = "The instructor runs the steps; what they find appears here by itself."
LAB = "The lab text and a script that does without this platform are in the folder `labs/sgan`."
STATE = {
    "waiting": "Nobody has run it yet.",
    "partly": "Some of its runs are missing.",
    "done": "All of its runs are there.",
    "running": "It goes on.",
}


@dataclass(frozen=True)
class PathView:
    """A guided study as it is now, shared by all visitors."""

    report: GuidedReport
    total: int
    expected: dict[str, Remaining]  # the runs that each step still needs

    def remaining(self, steps: str = GUIDE.keys) -> Remaining:
        """The runs that these steps still need."""
        estimates = [self.expected[step] for step in steps]
        return Remaining(sum(estimate.runs for estimate in estimates), sum(estimate.seconds for estimate in estimates))


def view(study_id: int) -> PathView:
    """The study as it is now. Raises BadInput where there is none."""
    study = frame.store().study(study_id)
    return _cached_view((study.id, study.created_at, study.state, study.trials, study.done, study.failed), study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _cached_view(state: tuple[object, ...], _study: StudyRecord) -> PathView:
    report = guided_report(GUIDE, frame.store(), _study)
    sofar = Sofar(_study, report.trials, report.runs)
    return PathView(report, total(GUIDE, sofar), by_step(GUIDE, frame.store(), sofar))


def _questions(now: PathView, key: str) -> dict[str, Ask]:
    return {key: question(now.report.step_results, key)}


def run(study_id: int, steps: str, session: SessionRecord, identity: Identity) -> None:
    """Start these steps; the page then shows their progress."""
    studies.run(study_id, session, identity, lambda: plan.ask_for(GUIDE, frame.store(), study_id, steps))


def show(study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    """The step, with its results as they arrive."""
    try:
        now = view(study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    step_report = now.report.step(key)
    st.markdown(f"### {key}. {frame.plain(step_report.step.title)}\n\n{frame.plain(step_report.step.asks)}")
    if step_report.step.means:
        st.markdown(
            "\n".join(
                f"- **{frame.plain(name)}**: {frame.plain(meaning)}" for name, meaning in step_report.step.means.items()
            )
        )
    left_column, right = st.columns(2, gap="medium")
    with left_column, st.container(border=True, key=f"tuning-predict-{key}"):
        guesses = predictions.ask(study_id, _questions(now, key), identity, step_report.state != "waiting")
    going = studies.live(now.report.study)
    every = EVERY if going else None
    with right, st.container(border=True, key=f"tuning-run-{key}"):
        st.markdown("#### :material/play_circle: Run")
        st.fragment(run_every=every)(_run)(study_id, key, session, identity)
    st.markdown("#### :material/visibility: See")
    if not guesses:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    else:
        st.fragment(run_every=every)(_see)(study_id, key, identity)
    st.markdown("#### :material/lightbulb: Explain")
    if guesses:
        st.markdown(frame.plain(step_report.step.explain))
        if step_report.state == "waiting":  # else it stands with the figure
            st.markdown(f"**The article:** {frame.plain(step_report.step.published)} {frame.plain(GUIDE.others)}")
    st.caption(f"*{frame.plain(GUIDE.source)}* · {LAB}")


def _run(study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    now = view(study_id)
    step_report = now.report.step(key)
    going = studies.live(now.report.study)
    st.markdown(STATE[step_report.state])
    if step_report.state != "waiting":
        runs = {run for cell in step_report.cells for run in (*cell.runs, *cell.pruned_runs)}
        measured = f"{step_report.ended} of {len(step_report.cells)} settings measured"
        st.caption(f"{measured}, {words.count(len(runs), 'run')}.")
    ahead = now.expected[key]
    if ahead.runs:
        st.markdown(f"It still takes {words.count(ahead.runs, 'run')}, about {words.long(ahead.seconds)}.")
    if identity.role != "instructor":
        st.caption(WHERE)
        return
    if going:
        st.caption(
            "Another part of the study goes on; stop it above, or wait." if step_report.state != "running" else ""
        )
        return
    if session is None or not session.up:
        st.caption(frame.not_up(session))
    elif ahead.runs:
        label = "Run this step" if step_report.state == "waiting" else "Run what is missing"
        if st.button(label, type="primary", icon=":material/play_arrow:", key=f"tuning-go-{key}"):
            run(study_id, key, session, identity)


def _see(study_id: int, key: str, identity: Identity) -> None:
    now = view(study_id)
    step_report = now.report.step(key)
    if step_report.state == "waiting":
        st.caption("Nothing has been measured yet.")
        return
    questions, answers = _questions(now, key), {key: step_report.answer}
    if step_report.state == "done":
        predictions.score(questions, predictions.guesses_of(study_id, questions, identity), answers, {})
    cards.show_page(step_cards(now.report, key, titled=False), f"tuning-{study_id}")
    if identity.role == "instructor" and step_report.state == "done":
        predictions.everybody(study_id, questions, answers)
