"""Quizzes: to learn from alone, lab by lab; rounds to join; and for the instructor to begin, follow and end them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from workshop.core.words import count, moment
from workshop.quiz import live, reader, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.rendering import plain
from workshop.quiz.self_study import DeckProgress, QuizLearner
from workshop.store.records import Identity, QuizRound
from workshop.web.actions import only_instructor
from workshop.web.pages import blocks, frame
from workshop.web.quiz import rounds

ABREAST = 3  # cards
WORDS = (
    "Each lab has questions: learn from them **alone**, as often as you like, with numbers of your own and an "
    "explanation after each answer; or answer them **live**, together with the class."
)
FILE = "a file of mine"
VARIABLE = re.compile(r"\{\w+\}")
LONGEST_QUESTION = 50  # characters of a question in the list
RECENT = 20  # rounds that are listed
PHASES = {"lobby": "in the lobby", "question": "a question is open", "podium": "at the podium"}


def page() -> None:
    identity = frame.heading("Quiz", WORDS)
    if identity.role == "instructor":
        live, by_oneself = st.tabs(["Live rounds", "Learn alone"])
        with live:
            for this in frame.store().rounds("live", going_on=True):  # nothing else leads to a round's host view
                _round(this, identity)
            if not frame.recorded():
                _form(identity)
            _ended(identity)
        with by_oneself:
            _decks(identity)
        return
    _to_join()
    _decks(identity)


def _decks(identity: Identity) -> None:
    """The labs' decks, each with how far one is."""
    st.subheader("Learn alone", anchor=False)
    decks = reader.lab_decks()
    if not decks:
        st.info("There are no quizzes here yet.", icon=":material/info:")
    good = [(name, deck) for name, deck in decks.items() if isinstance(deck, Deck)]
    for column, (name, deck) in blocks.abreast(good, ABREAST):
        with column, st.container(border=True, key=f"deck-{name}"):
            _deck(name, deck, self_study.progress(frame.store(), deck, QuizLearner.from_identity(identity)))
    for name in decks.keys() - dict(good).keys():
        if identity.role == "instructor":
            st.error(f"The quiz of lab {frame.plain(name)} can't be read; `workshop quiz check {name}` says why.")


def _deck(name: str, deck: Deck, score: DeckProgress | None) -> None:
    st.markdown(f"**{frame.plain(deck.title)}** · {count(len(deck.questions), 'question')}")
    label, where = "Begin", ""
    if score is not None and score.answered:
        st.progress(score.answered / score.questions, score.words)
        label, where = ("See how it went", "#score") if score.done else ("Go on", "")
    st.link_button(label, f"quiz/alone/{name}{where}", icon=":material/quiz:")


def _form(identity: Identity) -> None:
    """The form for a new round: its questions and points. The round begins in its lobby, where learners join."""
    with st.container(border=True, key="quiz-begin"), blocks.errors():
        st.markdown("#### Begin a round")
        deck, folder = _chosen()
        if deck is None:
            return
        st.markdown(f"**{frame.plain(deck.title)}** · {count(len(deck.questions), 'question')}")
        chosen_questions = _questions(deck)
        if not chosen_questions:
            st.info("Choose at least one question.", icon=":material/info:")
            return
        deck = deck.selection(chosen_questions)
        ranking = st.checkbox("Show a ranking", value=True)
        speed_bonus = st.checkbox("Fast answers get more points", value=False)
        vote_twice = st.checkbox(
            "Learners may talk and vote again",
            value=False,
            help="Peer instruction: the class doesn't see the first vote. You choose for each question whether "
            "learners talk to their neighbours and vote again. Only the second vote gives points.",
        )
        st.caption(live.rules(speed_bonus=speed_bonus))
        if st.button("Begin the round", type="primary", icon=":material/play_circle:"):
            only_instructor(identity)
            quiz_round = rounds.host(
                frame.store(), deck, folder, speed_bonus=speed_bonus, ranking=ranking, vote_twice=vote_twice
            )
            blocks.leave(f"quiz/{quiz_round.id}/host")  # the projector follows the class into the lobby


def _questions(deck: Deck) -> list[str]:
    """The ids of the questions that the round asks, in their order."""
    # Numbers that are drawn for each learner are left open.
    titles = {
        question.id: f"{number}. "
        + textwrap.shorten(VARIABLE.sub("…", plain(question.text)), LONGEST_QUESTION, placeholder=" …")
        for number, question in enumerate(deck.questions, 1)
    }
    ids: list[str] = st.multiselect(
        "Questions of this round, in their order",
        list(titles),
        list(deck.short or titles),
        format_func=lambda id: titles[id],
        help="At first, the deck's short quiz is chosen, where it has one. A question that you remove and choose again "
        "comes last.",
        key=f"quiz-questions-{deck.deck}-{'-'.join(titles)}",
    )
    return ids


def _chosen() -> tuple[Deck | None, Path | str]:
    """The deck and the folder of its pictures; None before a file was given. Raises BadInput."""
    name = st.selectbox("Questions", [*reader.lab_decks(), FILE], format_func=_title)
    if name != FILE:
        return reader.deck(name)
    about = "`workshop quiz host FILE` begins a round with the pictures that are beside the file."
    upload = st.file_uploader("A deck as YAML; its pictures can't come along", type=["yaml", "yml"], help=about)
    if upload is None:
        return None, ""
    return reader.parse(upload.getvalue().decode("utf-8", "replace"), upload.name), ""


def _title(name: str) -> str:
    deck = reader.lab_decks().get(name)
    return deck.title if isinstance(deck, Deck) else name


def _to_join() -> None:
    """The rounds that go on, as learners see them."""
    going = frame.store().rounds("live", going_on=True)[:RECENT]
    if going:
        st.subheader("Join a round", anchor=False)
    for this in going:
        with st.container(border=True, key=f"round-{this.id}"):
            st.markdown(f"**{frame.plain(this.title)}** · {_phase(this)} · {_players(this)}")
            st.link_button(
                "Join", f"quiz?{urlencode({'code': this.code or ''})}", icon=":material/login:", type="primary"
            )


def _ended(identity: Identity) -> None:
    """Rounds that have ended, and the results of learners who answered alone, for the instructor."""
    recent = [this for this in frame.store().rounds("live") if this.ended_at is not None][:RECENT]
    st.subheader("Rounds that have ended", anchor=False)
    if not recent:
        st.markdown("No round has ended yet.")
    for this in recent:
        _round(this, identity)
    alone = frame.store().rounds("alone")[:RECENT]
    if alone:
        with st.expander("Results of learning alone", icon=":material/person:"):
            for this in alone:
                label = (
                    f"{this.title} ({count(len(frame.store().players(this.id)), 'attempt')}, {moment(this.created_at)})"
                )
                st.link_button(frame.plain(label), f"quiz/{this.id}/results", icon=":material/analytics:")


def _round(this: QuizRound, identity: Identity) -> None:
    with st.container(border=True, key=f"round-{this.id}"):
        code = f" · code **{frame.plain(this.code or '')}**" if this.ended_at is None else ""
        st.markdown(
            f"**{frame.plain(this.title)}** · {_phase(this)}{code} · {_players(this)} · {moment(this.created_at)}"
        )
        with st.container(horizontal=True):
            if this.ended_at is None:
                st.link_button("Host", f"quiz/{this.id}/host", icon=":material/settings_remote:", type="primary")
                st.link_button("Projector", f"quiz/{this.id}/projector", icon=":material/cast:")
            st.link_button("Results", f"quiz/{this.id}/results", icon=":material/analytics:")
            if this.ended_at is None:
                warning = "This ends the round for all who are in it. What was answered stays."
                if blocks.confirmed("End", ":material/stop_circle:", warning, "End it", f"end-{this.id}"):
                    with blocks.errors():
                        rounds.end_round(frame.store(), identity, this.id)
                        st.rerun()


def _phase(this: QuizRound) -> str:
    if this.ended_at is not None:
        return "ended"
    return PHASES.get(str(this.state.get("phase", "lobby")), "goes on")


def _players(this: QuizRound) -> str:
    players = [player for player in frame.store().players(this.id) if not player.removed]
    return count(len(players), "learner")
