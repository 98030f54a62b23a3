"""Beginning a live round: from a lab's deck, or from a file with all that is wrong in it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import streamlit as st

from workshop.core import words
from workshop.pages import blocks, frame
from workshop.quiz import catalogue, reader
from workshop.quiz.deck import Deck
from workshop.quiz.live import scoring
from workshop.quiz.reader import BadDeck
from workshop.quiz.rendering import plain
from workshop.server.actions import only_instructor
from workshop.server.quiz import round_start
from workshop.store.records import Identity

FILE = "a file of mine"
VARIABLE = re.compile(r"\{\w+\}")
LONGEST = 50  # characters of a question in the list


def form(identity: Identity) -> None:
    """The form for a new round: its questions and points. The round begins in its lobby, where learners join."""
    with st.container(border=True, key="quiz-begin"), blocks.errors():
        st.markdown("#### Begin a round")
        try:
            deck, folder = _chosen()
        except BadDeck as error:
            _problems(error)
            return
        if deck is None:
            return
        st.markdown(f"**{frame.plain(deck.title)}** · {words.count(len(deck.questions), 'question')}")
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
        st.caption(scoring.rules(speed_bonus=speed_bonus))
        if st.button("Begin the round", type="primary", icon=":material/play_circle:"):
            only_instructor(identity)
            quiz_round = round_start.host(
                frame.store(), deck, folder, speed_bonus=speed_bonus, ranking=ranking, vote_twice=vote_twice
            )
            st.toast(f"The round is in its lobby: learners join with the code {quiz_round.code}.")
            st.rerun()


def _questions(deck: Deck) -> list[str]:
    """The ids of the questions that the round asks, in their order."""
    titles = {
        question.id: f"{number}. {textwrap.shorten(_plain(question.text), LONGEST, placeholder=' …')}"
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


def _plain(text: str) -> str:
    """A question's text without its markup; numbers that are drawn for each learner are left open."""
    return VARIABLE.sub("…", plain(text))


def _chosen() -> tuple[Deck | None, Path | str]:
    """The deck and the folder of its pictures; None before a file was given. Raises BadInput."""
    name = st.selectbox("Questions", [*catalogue.decks(), FILE], format_func=_title)
    if name != FILE:
        return catalogue.deck(name)
    upload = st.file_uploader("A deck as YAML; its pictures can't come along", type=["yaml", "yml"])
    if upload is None:
        return None, ""
    if upload.size > reader.LARGEST:
        raise BadDeck(upload.name, (reader.DeckProblem(None, "", f"it is larger than {reader.LARGEST >> 20} MB"),))
    return reader.parse(upload.getvalue().decode("utf-8", "replace"), upload.name), ""


def _title(name: str) -> str:
    deck = catalogue.decks().get(name)
    return deck.title if isinstance(deck, Deck) else name


def _problems(error: BadDeck) -> None:
    st.error(f"This deck can't be used: {words.count(len(error.problems), 'problem')}.")
    # A table that breaks long lines: what would be right stands at their ends.
    table = [
        {
            "Line": "" if problem.line is None else str(problem.line),
            "Where": frame.plain(problem.where or "the deck"),
            "What": frame.plain(problem.text),
        }
        for problem in error.problems
    ]
    st.table(table, hide_index=True)
    if any("picture" in problem.text for problem in error.problems):
        st.info(
            "A file from the browser comes without its pictures. `workshop quiz host FILE` begins a round with the "
            "pictures that are beside the file.",
            icon=":material/image:",
        )
