"""Predict first: what people are asked before they see results, what they guessed, and how near they came. `about` says
what a guess is about: a study, or a guided failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.report.figures.bars import guesses as drawn_guesses
from workshop.store.records import Identity
from workshop.study.guided import guesses
from workshop.study.guided.guesses import LOOKED, Answer, Ask, ChoiceGuess
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
            value = guesses.in_words(question, given_guesses[name]) if name in given_guesses else "nothing"
            st.markdown(f"{frame.plain(question.question)} You guessed **{frame.plain(value)}**.")
        if not given_guesses:
            st.markdown("You saw the result without a guess.")
        return own_guesses
    _form(about, questions, identity, first=not own_guesses)
    if given_guesses:
        values = words.listed(guesses.in_words(questions[name], value) for name, value in given_guesses.items())
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
    return {name: guesses.stored_guess(guess.value) for name, guess in stored.items() if guess is not None}


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
            checked = {name: {"guess": guesses.check(questions[name], value)} for name, value in values.items()}
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
        sentence = frame.plain(f"{title}{guesses.score(questions[name], value, answer)}")
        if guesses.right(questions[name], value, answer):
            st.success(sentence, icon=":material/check_circle:")
        else:
            st.warning(sentence, icon=":material/compare_arrows:")


def everybody(about: str, questions: Questions, answers: Mapping[str, Answer | None]) -> None:
    """The guesses of the class, for the instructor."""
    guesses_by_question = {}
    for name in questions:
        stored = [guesses.stored_guess(guess.value) for guess in frame.store().guesses(f"{about}/{name}")]
        guesses_by_question[name] = [guess for guess in stored if guess is not None]
    with st.expander(
        f"What the class guessed ({max(map(len, guesses_by_question.values()))})", icon=":material/groups:"
    ):
        for name, question in questions.items():
            answer, class_guesses = answers[name], guesses_by_question[name]
            measured = ""
            if answer is not None and class_guesses:
                right = sum(guesses.right(question, guess, answer) for guess in class_guesses)
                value = frame.plain(guesses.in_words(question, answer.value))
                measured = f" Measured: **{value}**; {right} of {len(class_guesses)} came near."
            st.markdown(f"{frame.plain(question.question)}{measured}")
            draw_figure(drawn_guesses(guesses.tally(question, class_guesses)), f"class-{about}-{name}")
