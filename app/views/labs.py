"""Labs: the course in its order, and one lab to read and to do in the browser. `?lab=kmeans&part=3` is a link to a
section, `?show=glossary` to the glossary, `?show=dictionary` to the dictionary."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from workshop.core import words
from workshop.course import catalogue, dictionary, glossary, learner, paths
from workshop.course.description import LabDescription
from workshop.course.progress import LabStanding
from workshop.pages import blocks, frame, lab_reader, learner_home, links
from workshop.store.records import Identity

ABREAST = 2  # cards
WORDS = (
    "Each lab is a notebook in JupyterLab. You can also read it here, note your predictions, start its runs and answer "
    "its quiz. The exercises in which you write code are checked in the notebook."
)


def page() -> None:
    if st.query_params.get("show") == "glossary":
        _glossary()
        return
    if st.query_params.get("show") == "dictionary":
        _dictionary()
        return
    name, labs = st.query_params.get("lab"), {folder.name: (folder, lab) for folder, lab in catalogue.readable()}
    if name in labs:
        st.query_params["lab"] = name  # a link from this very page doesn't change the address in the browser
        _lab(*labs[name])
        return
    identity = frame.heading("Labs", WORDS)
    if name is not None:
        st.warning(f"There is no lab {frame.plain(name[:40])}; here are the labs of the course.")
    if not labs:
        st.info("No lab is installed.", icon=":material/info:")
    links.link("labs", "Dictionary of frameworks and launchers", ":material/translate:", {"show": "dictionary"})
    _paths({name: lab for name, (_, lab) in labs.items()}, identity)
    progress_by_lab = {lab_progress.lab.name: lab_progress for lab_progress in learner_home.labs_of(identity)}
    for column, (folder, lab) in blocks.abreast(list(labs.values()), ABREAST):
        with column, st.container(border=True, key=f"lab-{folder.name}"):
            _card(folder, lab, progress_by_lab.get(folder.name))


def _card(folder: Path, lab: LabDescription, lab_progress: LabStanding | None) -> None:
    st.markdown(f"#### {lab.number}. {frame.plain(lab.title)}")
    st.caption(f"{lab.duration} · {words.count(len(lab.exercises), 'exercise')}")
    st.markdown("\n".join(f"- {frame.plain(goal)}" for goal in lab.goals))
    if lab.needs:
        st.caption(f"You need: {'; '.join(lab.needs)}")
    if lab_progress is not None and lab_progress.begun:
        st.markdown(f":green[:material/check:] {frame.plain(learner_home.lab_words(lab_progress))}")
    with st.container(horizontal=True, vertical_alignment="center"):
        label = "Go on" if lab_progress is not None and lab_progress.begun else "Read and do it here"
        links.link("labs", label, ":material/menu_book:", {"lab": folder.name})
        st.link_button("Quiz", f"/quiz/alone/{lab.deck}:lab", icon=":material/quiz:")


def _paths(labs: Mapping[str, LabDescription], identity: Identity) -> None:
    """Which labs fit which class, for those who teach."""
    if identity.role != "instructor" or not labs:
        return
    with blocks.errors(), st.expander("Which labs for how much time", icon=":material/route:"):
        for learning_path in paths.read():
            numbers = ", ".join(str(labs[name].number) for name in learning_path.labs if name in labs)
            hours = learning_path.minutes(labs) / 60
            st.markdown(
                f"**{frame.plain(learning_path.title)}** (labs {numbers}; {hours:.1f} hours). "
                f"For: {frame.plain(learning_path.audience)}. {frame.plain(learning_path.note)}"
            )
        st.caption("Hours are the labs alone. Plan ten minutes between two labs, and more for questions.")


def _glossary() -> None:
    frame.heading("Glossary", "The terms that the labs explain. Each one leads to the lab that explains it.")
    links.link("labs", "All labs", ":material/arrow_back:")
    query = st.text_input("Find a term", key="term").strip().casefold()
    with blocks.errors():
        terms = [term for term in glossary.read() if query in f"{term.name} {term.text}".casefold()]
    if not terms:
        st.info(f"No lab explains {frame.plain(query[:40])}.")
    for term in terms:
        with st.container(horizontal=True):
            st.markdown(f"**{frame.plain(term.name)}**  \n{term.text.replace('**', '')}", width="stretch")
            links.link("labs", "Lab", ":material/menu_book:", {"lab": term.lab, "section": glossary.SECTION})


def _dictionary() -> None:
    frame.heading("Dictionary", "The steps of the recipe and the launch commands, in the words of several frameworks.")
    links.link("labs", "All labs", ":material/arrow_back:")
    with blocks.errors():
        entries = dictionary.read()
        names = st.pills(
            "Frameworks",
            list(entries.frameworks),
            selection_mode="multi",
            default=list(entries.frameworks)[:2],
            format_func=lambda name: entries.frameworks[name],
        )
        for step in entries.steps:
            st.markdown(f"#### {frame.plain(step.title)}\n{frame.plain(step.why)}")
            for column, name in blocks.abreast(list(names), ABREAST):
                entry = step.entries[name]
                with column:
                    st.caption(frame.plain(entries.frameworks[name]))
                    if entry.code:
                        st.code(entry.code, language="python", wrap_lines=True)
                    st.caption(frame.plain(entry.note))
        st.markdown(f"#### Start it\n{frame.plain(entries.launch.ranks)}:")
        for command in entries.launch.commands:
            st.caption(frame.plain(f"{command.title}. {command.note}"))
            st.code(command.line, language="bash", wrap_lines=True)


def _lab(folder: Path, lab: LabDescription) -> None:
    identity: Identity = frame.heading(f"Lab {lab.number}: {lab.title}")
    links.link("labs", "All labs", ":material/arrow_back:")
    if identity.role == "learner" and not frame.recorded():
        frame.store().keep_opened(learner.browser_name(frame.store(), identity), folder.name)
    lab_reader.show(folder, lab, identity)
