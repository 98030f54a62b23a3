"""Home: for the instructor the class and the run sheet of the lab of the day, for learners their next step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import streamlit as st

from workshop.course import catalogue, reading
from workshop.course.class_progress import outlines
from workshop.course.description import LabDescription
from workshop.course.reading import LabSection, RunSheetStep
from workshop.quiz import reader as decks
from workshop.registry import first_workload, workloads
from workshop.report.sentences import state_words
from workshop.store.records import Identity, SessionRecord
from workshop.web import actions, classroom
from workshop.web.pages import blocks, classroom_bar, frame, learner_home
from workshop.web.quiz import rounds
from workshop.web.templates import render

RECENT = 4  # runs that are listed
EVERY = 5.0  # seconds between looks at what goes on
MOST_RUNS = 3  # of a step that have a button


def page() -> None:
    identity = frame.heading("Distributed training workshop")
    session = frame.choose_session()
    main, side = st.columns([3, 2], gap="large")
    with main:
        if frame.recorded():
            _alone(identity, session)
        elif identity.role == "instructor":
            _alone(identity, session)
            _today(identity, session)
        else:
            learner_home.show(identity)
    with side:
        if identity.role == "instructor" and not frame.recorded():
            _way_in()
            classroom_bar.help_requests(identity)
        with st.container(border=True):
            st.fragment(run_every=EVERY)(_now)(session)


def _alone(identity: Identity, session: SessionRecord | None) -> None:
    """A first run with one press."""
    with st.container(border=True, key="alone"):
        workload = first_workload()
        title = "Show the class a run" if frame.store().attendances() else "Try it alone"
        st.markdown(f"#### {title}\n{frame.plain(workload.summary)}")
        with st.container(horizontal=True, vertical_alignment="center"):
            refusal = frame.not_up(session)
            if session is not None and not refusal and workload.presets:
                preset = workload.presets[0]
                if st.button(f"Run {workload.title}: {preset.title}", type="primary", icon=":material/play_arrow:"):
                    with blocks.errors():
                        placement = {**session.placement, **preset.placement}
                        store = frame.store()
                        run = actions.submit(store, identity, session, workload.name, preset.params, placement)
                        frame.go("run", {"run": str(run.id)})
            frame.link("run", "See what else can be run", ":material/play_circle:")
        if refusal:
            st.caption(refusal)


def _way_in() -> None:
    """The class code with its address as a QR code, or why other computers can't reach it."""
    with st.container(border=True, key="way-in"):
        st.html(render("dashboard/way_in", **classroom_bar.invitation(frame.store())))
        with st.container(horizontal=True, vertical_alignment="center"):
            frame.link("run", "Start a run", ":material/play_circle:")
            frame.link("quizzes", "Host a quiz", ":material/quiz:")
            frame.project()


def _now(session: SessionRecord | None) -> None:
    """The session's state and the latest runs."""
    session = frame.store().session(session.id) if session is not None else None
    st.markdown("#### Right now")
    if session is not None:
        st.markdown(f"Session **{frame.plain(session.name)}**: {frame.plain(state_words(session))}")
    if refusal := frame.not_up(session):
        st.markdown(refusal)
    latest = frame.store().runs(session_id=session.id if session else None, limit=RECENT)
    frame.run_links(latest)
    if not latest:
        st.markdown("Nobody has run anything yet.")


# The run sheet.


def _today(identity: Identity, session: SessionRecord | None) -> None:
    """The run sheet of the lab of the day: a line for each step, the current one with its buttons."""
    labs = {folder.name: (folder, lab) for folder, lab in catalogue.readable()}
    if not labs:
        return
    pace = classroom.pace(frame.store())
    chosen = st.query_params.get("lab", pace.lab)
    names = list(labs)
    with st.container(border=True, key="today"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.selectbox(
                "Lab of the day",
                names,
                names.index(chosen) if chosen in labs else 0,
                format_func=lambda name: f"{labs[name][1].number} {labs[name][1].title}",
                width=400,
            )
            frame.link("labs", "Open the lab", ":material/menu_book:", {"lab": name})
        folder, lab = labs[name]
        with blocks.errors():
            steps = reading.read_run_sheet(folder)
            place = blocks.place("step", len(steps)) if chosen == name else 0
            for number, (step, later) in enumerate(zip_longest(steps, steps[1:])):
                if number == place:
                    _step(step, folder, lab, identity)
                    if later is not None and session is not None and not frame.not_up(session):
                        _runs(reading.read(folder)[step.part - 1 : later.part - 1], name, identity, session)
                elif st.button(_line(step), key=f"step-{name}-{number}", type="tertiary"):
                    st.query_params.update({"lab": name, "step": str(number + 1)})
                    st.rerun()
        with st.expander("The whole run sheet, with answers", icon=":material/list_alt:"):
            st.markdown((folder / reading.FILE).read_text(encoding="utf-8").partition("\n")[2])


def _line(step: RunSheetStep) -> str:
    return f"{step.start}′ · {frame.plain(step.title.replace('`', ''))} · {step.minutes} min"


def _step(step: RunSheetStep, folder: Path, lab: LabDescription, identity: Identity) -> None:
    """The current step: what to show, what to say, and its buttons."""
    store = frame.store()
    with st.container(border=True, key="current-step"):
        st.markdown(f"**{step.start}′ · {step.title} · {step.minutes} min**")
        if step.show:
            st.markdown(f":material/cast: {step.show}")
        if step.say:
            st.markdown(f":material/record_voice_over: {step.say}")
        number = step.exercise
        exercise = lab.exercises[number - 1] if number and number <= len(lab.exercises) else ""
        with st.container(horizontal=True, vertical_alignment="center"), blocks.errors():
            if st.button("Send the class here", icon=":material/groups:"):
                classroom.set_pace(store, identity, outlines()[0], folder.name, exercise, step.part)
                st.toast("The bar of every learner leads to this section now.")
                classroom_bar.refresh()
            if st.button(f"Timer {step.minutes} min", icon=":material/timer:"):
                classroom.set_timer(store, identity, step.minutes)
                classroom_bar.refresh()
                st.rerun()
            if step.deck and st.button("Host the quiz", type="primary", icon=":material/quiz:"):
                deck, pictures = decks.deck(step.deck)
                quiz_round = rounds.host(store, deck.brief(), pictures)
                blocks.leave(f"quiz/{quiz_round.id}/host")
            frame.link("labs", "Section", ":material/menu_book:", {"lab": folder.name, "part": str(step.part)})


def _runs(sections: Sequence[LabSection], lab: str, identity: Identity, session: SessionRecord) -> None:
    """A button for each of the first runs of the sections that a step goes through."""
    runs = [run for section in sections for cell in section.cells for run in cell.runs if run.workload in workloads()]
    with st.container(horizontal=True, vertical_alignment="center"), blocks.errors():
        for number, run in enumerate(runs[:MOST_RUNS]):
            label = f"Run {workloads()[run.workload].title}: {run.words}"
            if st.button(frame.plain(label), icon=":material/play_arrow:", key=f"sheet-run-{lab}-{label}-{number}"):
                params, placement = actions.lab_run(run, session)
                started = actions.submit(frame.store(), identity, session, run.workload, params, placement)
                frame.go("run", {"run": str(started.id)})
