"""Predict first: what people are asked before they see results, what they guessed, and how near they came. `about` says
what a guess is about: a study, or a guided failure, which one predicts, runs, runs mended, and compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from workshop.core import words
from workshop.core.placement import Placement
from workshop.extension import Failure, Side
from workshop.report.failures import command
from workshop.report.figures.bars import guesses as drawn_guesses
from workshop.report.sentences import STATUS
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.study.guided import kind
from workshop.study.guided.kind import LOOKED, Answer, Ask, ChoiceGuess
from workshop.web import actions
from workshop.web.pages import blocks, frame
from workshop.web.pages.live import draw_figure

Questions = Mapping[str, Ask]  # by the name under which a study's guess is kept
Guesses = Mapping[str, float | str | None]  # None: somebody would rather look


def ask(about: str, questions: Questions, identity: Identity, measured: bool) -> Guesses:
    """Draw the questions, which can be answered once, or as long as nothing is `measured`. Returns the guesses of the
    visitor, none where there are none yet."""
    own_guesses = guesses_of(about, questions, identity)
    given_guesses = {name: value for name, value in own_guesses.items() if value is not None}
    st.markdown("#### :material/psychology: Predict")
    if own_guesses and (measured or not given_guesses):
        for name, question in questions.items() if given_guesses else ():
            value = kind.in_words(question, given_guesses[name]) if name in given_guesses else "nothing"
            st.markdown(f"{frame.plain(question.question)} You guessed **{frame.plain(value)}**.")
        if not given_guesses:
            st.markdown("You saw the result without a guess.")
        return own_guesses
    _form(about, questions, identity, first=not own_guesses)
    if given_guesses:
        values = words.listed(kind.in_words(questions[name], value) for name, value in given_guesses.items())
        st.caption(f"Your guess so far: {frame.plain(values)}. You may change it until it is run.")
    return own_guesses


def see(guesses: Guesses) -> bool:
    """Draw the heading of the results; return whether the visitor may see them: has guessed, or has chosen to look."""
    st.markdown("#### :material/visibility: See")
    if not guesses:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    return bool(guesses)


def guesses_of(about: str, questions: Questions, identity: Identity) -> Guesses:
    """The guesses of a visitor."""
    stored = {name: frame.store().guess(identity.id, f"{about}/{name}") for name in questions}
    return {name: kind.stored_guess(guess.value) for name, guess in stored.items() if guess is not None}


def _form(about: str, questions: Questions, identity: Identity, first: bool) -> None:
    with st.form(f"guess-{about}-{'-'.join(questions)}", border=False):
        values = {name: field(question, f"{about}/{name}") for name, question in questions.items()}
        with st.container(horizontal=True):
            keep = st.form_submit_button("Keep my guess", key=f"{about}-keep", type="primary", icon=":material/lock:")
            look = first and st.form_submit_button("Show me without guessing", key=f"{about}-look", type="tertiary")
    if look:
        _keep(about, identity, {name: {LOOKED: True} for name in questions})
    elif keep and None in values.values():
        st.warning(f"Give {'a guess' if len(values) == 1 else 'all guesses'} first, however rough.")
    elif keep:
        with blocks.errors():
            checked = {name: {"guess": kind.check(questions[name], value)} for name, value in values.items()}
            _keep(about, identity, checked)


def field(question: Ask, key: str | None = None, value: float | None = None, about: str | None = None) -> Any:
    """A field for one guess, which begins with a `value`; returns the guess, None while there is none."""
    if isinstance(question, ChoiceGuess):
        return st.radio(question.question, question.options, index=None, key=key)
    kind: Any = int if question.step >= 1 else float
    return st.number_input(
        f"{question.question} [{'times' if question.unit == 'x' else question.unit}]",
        min_value=kind(question.low),
        max_value=kind(question.high),
        value=value,
        step=kind(question.step),
        format=None if kind is int else "%g",
        key=key,
        placeholder="your guess",
        help=about,
    )


def _keep(about: str, identity: Identity, values: Mapping[str, Mapping[str, Any]]) -> None:
    for name, value in values.items():
        frame.store().keep_guess(identity.id, f"{about}/{name}", value)
    st.rerun()


def score(
    questions: Questions, own_guesses: Guesses, answers: Mapping[str, Answer | None], titles: Mapping[str, str]
) -> None:
    """Say how near a visitor came with each guess; `titles` go before the sentences."""
    for name, value in own_guesses.items():
        answer = answers[name]
        if value is None or answer is None:
            continue
        title = f"{titles[name]}: " if name in titles else ""
        sentence = frame.plain(f"{title}{kind.score(questions[name], value, answer)}")
        if kind.right(questions[name], value, answer):
            st.success(sentence, icon=":material/check_circle:")
        else:
            st.warning(sentence, icon=":material/compare_arrows:")


def everybody(about: str, questions: Questions, answers: Mapping[str, Answer | None]) -> None:
    """The guesses of the class, for the instructor."""
    guesses_by_question = {}
    for name in questions:
        stored = [kind.stored_guess(guess.value) for guess in frame.store().guesses(f"{about}/{name}")]
        guesses_by_question[name] = [guess for guess in stored if guess is not None]
    with st.expander(
        f"What the class guessed ({max(map(len, guesses_by_question.values()))})", icon=":material/groups:"
    ):
        for name, question in questions.items():
            answer, class_guesses = answers[name], guesses_by_question[name]
            measured = ""
            if answer is not None and class_guesses:
                right = sum(kind.right(question, guess, answer) for guess in class_guesses)
                value = frame.plain(kind.in_words(question, answer.value))
                measured = f" Measured: **{value}**; {right} of {len(class_guesses)} came near."
            st.markdown(f"{frame.plain(question.question)}{measured}")
            draw_figure(drawn_guesses(kind.tally(question, class_guesses)), f"class-{about}-{name}")


ABOUT = "Each of these goes wrong in its own way. Predict what happens, run it, run the fix, compare the two."
EVERY = 3.0  # seconds between looks while one of these runs goes on
RECENT = 60  # newest runs of its workload that are searched for those of a failure
BUTTONS: Mapping[Side, str] = {"broken": "Run it", "fixed": "Run the fix"}
MISTAKE = ChoiceGuess(
    "What will the mistake lead to?",
    ("The run is refused or fails", "The run takes longer than the fix", "The result is worse", "Nothing changes"),
)
Runs = Mapping[Side, RunRecord | None]  # the newest run with the mistake, and the newest without it if there is one


def guided_failures(
    session: SessionRecord | None, identity: Identity, failures: Sequence[Failure], about: str = ABOUT
) -> None:
    """Draw failures, a single one unfolded, and refresh them while one of their runs in the session goes on."""
    st.markdown(about)
    live = _live(_newest(session, failures))
    st.fragment(run_every=EVERY if live else None)(_draw)(session.id if session else None, identity, failures, live)


def _draw(session_id: int | None, identity: Identity, failures: Sequence[Failure], live: bool) -> None:
    session = frame.store().session(session_id) if session_id is not None else None
    newest = _newest(session, failures)
    if live and not _live(newest):
        st.rerun()  # draws the page without further refreshes
    if session and (why := frame.not_up(session)):
        st.info(why, icon=":material/info:")
    for failure in failures:
        with st.expander(frame.plain(failure.title), expanded=len(failures) == 1, icon=":material/report:"):
            _failure(failure, newest[failure.name], session, identity)


def _live(newest: Mapping[str, Runs]) -> bool:
    return any(run is not None and not run.ended for runs in newest.values() for run in runs.values())


def _newest(session: SessionRecord | None, failures: Sequence[Failure]) -> dict[str, Runs]:
    """The newest two runs of each failure. A failure that is typed has a session of its own."""
    recent = {name: frame.store().runs(workload=name, limit=RECENT) for name in {each.workload for each in failures}}

    def newest(failure: Failure, side: Side) -> RunRecord | None:
        runs = [
            run for run in recent[failure.workload] if failure.command or (session and run.session_id == session.id)
        ]
        return next((run for run in runs if _shows(run, failure, side)), None)

    return {failure.name: {side: newest(failure, side) for side in failure.sides} for failure in failures}


def _shows(run: RunRecord, failure: Failure, side: Side) -> bool:
    """Whether a run has the params and the placement of this side. A placement that names no hosts fits any hosts."""
    if run.workload != failure.workload or not failure.params_of(side).items() <= run.params.items():
        return False
    placement = failure.placements()[side]

    def comparable(values: Mapping[str, Any]) -> dict[str, Any]:
        return Placement.parse({**values, **({} if failure.needs_hosts else {"hosts": ()})}).as_json()

    return placement is None or comparable(run.placement) == comparable(placement.as_json())


def _failure(failure: Failure, newest: Runs, session: SessionRecord | None, identity: Identity) -> None:
    st.markdown(frame.plain(failure.shows))
    prediction, question = failure.prediction, MISTAKE
    if prediction:
        with st.container(key=f"program-{failure.name}"):
            st.code(prediction.program, language="python", line_numbers=True, wrap_lines=True)
        question = ChoiceGuess(prediction.question, prediction.options)
    predicts = identity.role == "learner" and not frame.recorded()
    if predicts and not ask(f"failure/{failure.name}", {"outcome": question}, identity, measured=True):
        return
    several = bool(session and session.placement.get("hosts"))
    possible = session is not None and session.up and (several or not failure.needs_hosts)
    for column, side in zip(st.columns(len(failure.sides)), failure.sides, strict=True):
        with column:
            if side == "fixed" and failure.fix:
                st.markdown(f"**What mends it:** {frame.plain(failure.fix)}")
            _difference(failure, side, identity)
            kind: Literal["primary", "secondary"] = "primary" if side == "broken" else "secondary"
            key = f"{failure.name}-{side}"
            if not failure.command and st.button(BUTTONS[side], key=key, disabled=not possible, type=kind) and session:
                _submit(failure, side, session, identity)
            if run := newest[side]:
                frame.run_link(run.id, f"Run {run.id} · {STATUS[run.status]}")
                if run.verdict:
                    verdict, why = frame.plain(run.verdict["verdict"]), frame.plain(run.verdict["why"])
                    st.markdown(f"**{verdict}** {_seconds(run)}{why}")
    if failure.needs_hosts and not several:
        st.caption("This one needs a session over several hosts, which the instructor launches.")
    runs = [run for run in newest.values() if run is not None and run.ended]
    if len(runs) < len(failure.sides) or (prediction and runs[0].status != "completed"):
        return
    if prediction:
        st.markdown(f"**The right answer is:** {frame.plain(prediction.answer)}. {frame.plain(prediction.explanation)}")
        if identity.role == "instructor":
            st.code(command(failure, "broken"), language="bash", wrap_lines=True)
    st.markdown(f"**Look for:** {frame.plain(failure.look_for)}")
    if len(runs) > 1:
        frame.compare_link(run.id for run in runs)


def _difference(failure: Failure, side: Side, identity: Identity) -> None:
    """The settings in which this run differs from the other run, and its command line for instructors. Nothing of a
    failure with a prediction, because its settings say what is wrong."""
    if failure.prediction:
        return
    placement = failure.placements()[side]
    if placement is not None and failure.in_placement:
        variables = [f"{name}={value}" for name, value in placement.environment.items()]
        st.caption(frame.plain(", ".join([placement.describe(), *variables])))
    else:
        different = failure.broken_params if side == "broken" else failure.fixed_params
        st.caption(frame.plain(", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in different.items())))
    if failure.command or identity.role == "instructor":
        st.code(command(failure, side), language="bash", wrap_lines=True)


def _submit(failure: Failure, side: Side, session: SessionRecord, identity: Identity) -> None:
    placement = failure.placements()[side]
    where = session.placement if placement is None else placement.as_json()
    with blocks.errors():
        actions.submit(frame.store(), identity, session, failure.workload, failure.params_of(side), where)
        st.rerun()


def _seconds(run: RunRecord) -> str:
    """The time of the part in which the two runs differ: the time of a run includes its start and its data."""
    parts = (run.metrics or {}).get("seconds") or {}
    seconds = parts.get("fit", parts.get("train"))
    return f"({words.seconds(seconds)} of work) " if seconds is not None else ""
