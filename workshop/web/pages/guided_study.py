"""The page of a guided study, each step with predict, run, see, explain. `?study=3&step=d` is a link. A capability's
page is a `GuidedPage`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.registry import workload
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import runner
from workshop.study.estimate import Remaining
from workshop.study.guided import plan
from workshop.study.guided.cards import step_cards
from workshop.study.guided.guesses import Ask
from workshop.study.guided.guesses import ask as question
from workshop.study.guided.guide import Guide
from workshop.study.guided.kind import GuidedReport, by_step, expected, going_on, guided_report, total
from workshop.web.pages import cards, frame, links, predictions, studies

RECENT = 20  # guided studies to choose from
SETTINGS = {False: "Quick", True: "Thorough"}
PROMISED = 15 * 60.0  # seconds that the quick setting may take on two cores


@dataclass(frozen=True, eq=False)
class GuidedPage:
    """A guided study's page. `offered` are params of the workload, each with a few choices, that the form offers, and
    `lab` is a sentence on where to read more."""

    guide: Guide
    name: str  # of the page, in its address
    about: str
    offered: tuple[str, ...] = ()
    lab: str = ""

    def __call__(self) -> None:
        """Draw the page."""
        guide = self.guide
        identity = frame.heading(guide.page, self.about)
        session = frame.choose_session()
        study = studies.chosen(frame.store().studies(kind=guide.kind, limit=RECENT), guide.kind, "these", "guided one")
        if study is None or st.query_params.get("new"):
            _form(self, session, identity)
            return
        going = studies.live(study)
        st.fragment(run_every=EVERY if going else None)(_head)(self, study.id, session, identity, going)
        step = _step(self, study.id)
        st.query_params["step"] = step
        show(self, study.id, step, session, identity)
        if not studies.live(study):  # learners wait for a study that the instructor starts
            studies.follow(study)


def _step(guided: GuidedPage, study_id: int) -> str:
    """Buttons for the steps; returns the one that is picked."""
    names = {step.key: f"{step.key} {step.short}" for step in guided.guide.steps}
    first = guided.guide.keys[0]
    requested = st.query_params.get("step", first)
    picked = st.pills(
        "Step",
        list(names),
        default=requested if requested in names else first,
        format_func=lambda key: names[key],
        key=f"{guided.name}-step-{study_id}",
        label_visibility="collapsed",
    )
    return picked or first


# Beginning a study.


def _form(guided: GuidedPage, session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form, with the setting and the estimated time; learners see a message."""
    if identity.role != "instructor":
        name = guided.guide.workload
        links.unprepared("the guided study", name, workload(name).lab)
        return
    with st.container(border=True, key=f"{guided.name}-begin"):
        st.markdown("#### Prepare the guided study")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out of a step.")
        thorough = st.segmented_control(
            "Setting", list(SETTINGS), default=False, required=True, format_func=lambda thorough: SETTINGS[thorough]
        )
        try:
            setting = plan.plan_here(guided.guide, session, _common_params(guided), thorough=bool(thorough))
        except WorkshopError as error:
            st.info(f"This study can't begin yet. {frame.plain(str(error))}", icon=":material/info:")
            return
        estimate = expected(frame.store(), setting)
        promised = setting.quick and setting.cores <= 2 and estimate.seconds <= PROMISED
        promise = " That is at most a quarter of an hour." if promised else ""
        st.markdown(
            f"All {words.count(len(guided.guide.steps), 'step')}: about **{estimate.runs} runs**, "
            f"**{words.long(estimate.seconds)}** on this machine's {words.count(setting.cores, 'core')} "
            f"({frame.plain(estimate.why)}).{promise} Steps can be run one by one."
        )
        if st.button("Prepare it", type="primary", icon=":material/route:"):
            studies.begin(lambda: runner.begin(frame.store(), setting.wanting(""), identity.nickname), identity)


def _common_params(guided: GuidedPage) -> dict[str, Any]:
    """The params that all trials share."""
    fields = workload(guided.guide.workload).params.model_fields
    params: dict[str, Any] = {}
    for name, column in zip(guided.offered, st.columns(2), strict=False):
        extra = fields[name].json_schema_extra
        file: Any = extra.get("file") if isinstance(extra, dict) else None
        options: list[Any] = list(file["choices"]) if file else list(get_args(fields[name].annotation))
        with column:
            picked = st.selectbox(name.capitalize(), options, help=fields[name].description)
        if picked != fields[name].default:
            params[name] = picked
    return params


# The study as a whole.


def _head(guided: GuidedPage, study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    """The progress of the study, refreshed every few seconds while it goes on."""
    try:
        now = view(guided.guide, study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    study = now.report.study
    label = "Run all that is missing" if now.remaining().runs else ""
    studies.head(
        study,
        guided.name,
        _far(now, going),
        study.done / max(now.total, 1),
        session,
        identity,
        going,
        label,
        WHERE,
        lambda: plan.ask_for(guided.guide, frame.store(), study_id, guided.guide.keys),
    )


def _far(now: GuidedView, going: bool) -> str:
    """The state of the study, in a line."""
    report, study = now.report, now.report.study
    done = sum(step_report.state == "done" for step_report in report.steps)
    parts = [f"**Study {study.id}**, {report.setting.name}: {done} of {len(report.steps)} steps measured"]
    if going:
        parts.append(f"run {study.done + 1} of {max(now.total, study.done + 1)}")
        if (trial := going_on(report.step_results)) is not None:
            parts.append(f"now {frame.plain(trial.label)}")
        parts.append(studies.left_words(report))
        return f":blue[:material/sync:] {' · '.join(parts)}"
    missing = now.remaining()
    if missing.runs:
        parts.append(f"all that is missing: about {missing.runs} runs, about {words.long(missing.seconds)}")
        return " · ".join(parts)
    return f":green[:material/check_circle:] {parts[0]}"


EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
WHERE = "The instructor runs the steps; what they find appears here by itself."
STATE = {
    "waiting": "Nobody has run it yet.",
    "partly": "Some of its runs are missing.",
    "done": "All of its runs are there.",
    "running": "It goes on.",
}


@dataclass(frozen=True)
class GuidedView:
    """A guided study as it is now, shared by all visitors."""

    report: GuidedReport
    total: int
    expected: dict[str, Remaining]  # the runs that each step still needs

    def remaining(self) -> Remaining:
        """The runs that all steps still need."""
        estimates = self.expected.values()
        return Remaining(sum(estimate.runs for estimate in estimates), sum(estimate.seconds for estimate in estimates))


def view(guide: Guide, study_id: int) -> GuidedView:
    """The study as it is now. Raises BadInput where there is none."""
    study = frame.store().study(study_id)
    return _cached_view((study.id, study.created_at, study.state, study.trials, study.done, study.failed), guide, study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _cached_view(state: tuple[object, ...], _guide: Guide, _study: StudyRecord) -> GuidedView:
    report = guided_report(_guide, frame.store(), _study)
    return GuidedView(report, total(_guide, report), by_step(_guide, frame.store(), report))


def _questions(now: GuidedView, key: str) -> dict[str, Ask]:
    return {key: question(now.report.step_results, key)}


def show(guided: GuidedPage, study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    """The step, with its results as they arrive."""
    try:
        now = view(guided.guide, study_id)
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
    with left_column, st.container(border=True, key=f"{guided.name}-predict-{key}"):
        guesses = predictions.ask(study_id, _questions(now, key), identity, step_report.state != "waiting")
    going = studies.live(now.report.study)
    every = EVERY if going else None
    with right, st.container(border=True, key=f"{guided.name}-run-{key}"):
        st.markdown("#### :material/play_circle: Run")
        st.fragment(run_every=every)(_run)(guided, study_id, key, session, identity)
    st.markdown("#### :material/visibility: See")
    if not guesses:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    else:
        st.fragment(run_every=every)(_see)(guided, study_id, key, identity)
    st.markdown("#### :material/lightbulb: Explain")
    if guesses:
        st.markdown(frame.plain(step_report.step.explain))
        if step_report.state == "waiting":  # else it stands with the figure
            published = f"{step_report.step.published} {guided.guide.others}"
            st.markdown(f"**The {guided.guide.reference}:** {frame.plain(published)}")
    st.caption(f"*{frame.plain(guided.guide.source)}*{guided.lab and f' · {guided.lab}'}")


def _run(guided: GuidedPage, study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    now = view(guided.guide, study_id)
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
        if st.button(label, type="primary", icon=":material/play_arrow:", key=f"{guided.name}-go-{key}"):
            studies.run(study_id, session, identity, lambda: plan.ask_for(guided.guide, frame.store(), study_id, key))


def _see(guided: GuidedPage, study_id: int, key: str, identity: Identity) -> None:
    now = view(guided.guide, study_id)
    step_report = now.report.step(key)
    if step_report.state == "waiting":
        st.caption("Nothing has been measured yet.")
        return
    questions, answers = _questions(now, key), {key: step_report.answer}
    if step_report.state == "done":
        predictions.score(questions, predictions.guesses_of(study_id, questions, identity), answers, {})
    cards.show_page(step_cards(now.report, key, titled=False), f"{guided.name}-{study_id}")
    if identity.role == "instructor" and step_report.state == "done":
        predictions.everybody(study_id, questions, answers)
