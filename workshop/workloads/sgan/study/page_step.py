"""One step of the guided study: predict, run, see, explain. Its results stay hidden until somebody has guessed."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.pages import cards, frame, studies
from workshop.pages.cards import FIGURE
from workshop.report.figures.guesses import guesses as drawn_guesses
from workshop.report.sentences import waiting
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study.guided import guesses, plan
from workshop.study.guided.guesses import SHOWN, Ask, ChoiceGuess
from workshop.study.guided.kind import GuidedReport, StepReport, guided_report
from workshop.study.guided.questions import ask as question
from workshop.study.guided.trials import Estimate, by_step, total
from workshop.study.kinds import Sofar
from workshop.workloads.sgan.study.cards import step_cards
from workshop.workloads.sgan.study.guide import GUIDE

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
    """A guided study as it is now, made once for all visitors."""

    report: GuidedReport
    total: int
    expected: dict[str, Estimate]  # by step, what it would still take

    def left(self, steps: str = GUIDE.keys) -> Estimate:
        """What these steps would still take."""
        told = [self.expected[step] for step in steps]
        return Estimate(sum(one.runs for one in told), sum(one.seconds for one in told))


def seen(study_id: int) -> PathView:
    """The study as it is now. Raises BadInput where there is none."""
    study = frame.store().study(study_id)
    return _seen((study.id, study.created_at, study.state, study.trials, study.done, study.failed), study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _seen(state: tuple[object, ...], _study: StudyRecord) -> PathView:
    report = guided_report(GUIDE, frame.store(), _study)
    sofar = Sofar(_study, report.trials, report.runs)
    return PathView(report, total(GUIDE, sofar), by_step(GUIDE, frame.store(), sofar))


def run(study_id: int, steps: str, session: SessionRecord, identity: Identity) -> None:
    """Have these steps run; the page then follows."""
    studies.run(study_id, session, identity, lambda: plan.ask_for(GUIDE, frame.store(), study_id, steps))


def show(study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    """The step, its results as they come."""
    try:
        now = seen(study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    one = now.report.step(key)
    st.markdown(f"### {key}. {frame.plain(one.step.title)}\n\n{frame.plain(one.step.asks)}")
    if one.step.means:
        st.markdown(
            "\n".join(f"- **{frame.plain(name)}**: {frame.plain(told)}" for name, told in one.step.means.items())
        )
    guessed = frame.store().guess(identity.id, guesses.about(study_id, key))
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True, key=f"tuning-predict-{key}"):
        st.markdown("#### :material/psychology: Predict")
        _predict(study_id, one, question(now.report.found, key), guessed.value if guessed else None, identity)
    going = studies.live(now.report.study)
    every = EVERY if going else None
    with right, st.container(border=True, key=f"tuning-run-{key}"):
        st.markdown("#### :material/play_circle: Run")
        st.fragment(run_every=every)(_run)(study_id, key, session, identity)
    st.markdown("#### :material/visibility: See")
    if guessed is None:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    else:
        st.fragment(run_every=every)(_see)(study_id, key, identity, guessed.value)
    st.markdown("#### :material/lightbulb: Explain")
    if guessed is not None:
        st.markdown(frame.plain(one.step.explain))
        if one.state == "waiting":  # else it stands with the figure
            st.markdown(f"**The article:** {frame.plain(one.step.published)} {frame.plain(GUIDE.others)}")
    st.caption(f"*{frame.plain(GUIDE.source)}* · {LAB}")


def _predict(study_id: int, one: StepReport, ask: Ask, value: object, identity: Identity) -> None:
    mine = guesses.kept(value)
    if value is not None and (one.state != "waiting" or mine is None):
        st.markdown(frame.plain(ask.question))
        st.markdown(f"You guessed **{frame.plain(guesses.said(ask, mine))}**." if mine is not None else "You looked.")
        return
    with st.form(f"guess-{study_id}-{one.step.key}", border=False):
        if isinstance(ask, ChoiceGuess):
            given = st.radio(ask.question, ask.options, index=None)
        else:
            whole = ask.step >= 1
            given = st.number_input(
                f"{ask.question} [{ask.unit}]",
                min_value=int(ask.low) if whole else ask.low,
                max_value=int(ask.high) if whole else ask.high,
                value=None,
                step=int(ask.step) if whole else ask.step,
                placeholder="your guess",
            )
        with st.container(horizontal=True):
            keep = st.form_submit_button("Keep my guess", type="primary", icon=":material/lock:")
            show_me = value is None and st.form_submit_button("Show me without guessing", type="tertiary")
    if mine is not None:
        st.caption(f"Your guess so far: {frame.plain(guesses.said(ask, mine))}. You may change it until it is run.")
    if show_me:
        _keep(study_id, one.step.key, identity, {SHOWN: True})
    elif keep and given is None:
        st.warning("Give a guess first, however rough.")
    elif keep:
        try:
            _keep(study_id, one.step.key, identity, {"guess": guesses.check(ask, given)})
        except WorkshopError as error:
            st.error(frame.plain(str(error)))


def _keep(study_id: int, key: str, identity: Identity, value: dict[str, object]) -> None:
    frame.store().keep_guess(identity.id, guesses.about(study_id, key), value)
    st.rerun()


def _run(study_id: int, key: str, session: SessionRecord | None, identity: Identity) -> None:
    now = seen(study_id)
    one = now.report.step(key)
    going = studies.live(now.report.study)
    st.markdown(STATE[one.state])
    if one.state != "waiting":
        st.caption(f"{one.ended} of {len(one.cells)} settings measured, {words.count(len(_runs(one)), 'run')}.")
    ahead = now.expected[key]
    if ahead.runs:
        st.markdown(f"It still takes {words.count(ahead.runs, 'run')}, {waiting(ahead.seconds)}.")
    if identity.role != "instructor":
        st.caption(WHERE)
        return
    if going:
        st.caption("Another part of the study goes on; stop it above, or wait." if one.state != "running" else "")
        return
    if session is None or not session.up:
        st.caption(frame.plain(frame.not_up(session)))
    elif ahead.runs:
        label = "Run this step" if one.state == "waiting" else "Run what is missing"
        if st.button(label, type="primary", icon=":material/play_arrow:", key=f"tuning-go-{key}"):
            run(study_id, key, session, identity)


def _runs(one: StepReport) -> set[int]:
    return {run for cell in one.cells for run in (*cell.runs, *cell.pruned_runs)}


def _see(study_id: int, key: str, identity: Identity, value: object) -> None:
    now = seen(study_id)
    one = now.report.step(key)
    if one.state == "waiting":
        st.caption("Nothing has been measured yet.")
        return
    _score(now, one, guesses.kept(value))
    cards.show_page(step_cards(now.report, key, titled=False), f"tuning-{study_id}")
    if identity.role == "instructor" and one.state == "done":
        _class(study_id, one, question(now.report.found, key))


def _score(now: PathView, one: StepReport, guess: float | str | None) -> None:
    """How near one came, once all of the step is there."""
    if guess is None or one.state != "done" or one.answer is None:
        return
    ask = question(now.report.found, one.step.key)
    sentence = frame.plain(guesses.score(ask, guess, one.answer))
    if guesses.right(ask, guess, one.answer):
        st.success(sentence, icon=":material/check_circle:")
    else:
        st.warning(sentence, icon=":material/compare_arrows:")


def _class(study_id: int, one: StepReport, ask: Ask) -> None:
    """What everybody guessed, for the instructor."""
    kept = [guesses.kept(guess.value) for guess in frame.store().guesses(guesses.about(study_id, one.step.key))]
    told = [guess for guess in kept if guess is not None]
    with st.expander(f"What the class guessed ({len(told)})", icon=":material/groups:"):
        if one.answer is not None and told:
            right = sum(guesses.right(ask, guess, one.answer) for guess in told)
            st.markdown(
                f"{frame.plain(ask.question)} Measured: **{frame.plain(guesses.said(ask, one.answer.value))}**; "
                f"{right} of {len(told)} came near."
            )
        st.plotly_chart(drawn_guesses(guesses.tally(ask, told)), key=f"class-{study_id}-{one.step.key}", **FIGURE)
