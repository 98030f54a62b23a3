"""Labs: the course in its order, and one lab to read and to do in the browser. `?lab=kmeans&part=3` is a link to a
section, `?lab=pipelines&further=hybrid` to a further notebook of a lab, `?show=glossary` to the glossary,
`?show=dictionary` to the dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from workshop.core.errors import BadInput
from workshop.course import catalogue, learner, reading
from workshop.course import notebook as lab_links
from workshop.course.description import LabDescription
from workshop.course.reading import LabCell, LabRun, LabSection
from workshop.quiz import pictures
from workshop.quiz.parts import Picture
from workshop.registry import workloads
from workshop.report.activity import ActivityReader
from workshop.report.run_sections import turn
from workshop.sessions.client import placement_in
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.study.guided.kind import NumberGuess
from workshop.web import actions, auth_middleware
from workshop.web.pages import blocks, frame, learner_home, predictions
from workshop.web.templates import render

LANGUAGES = {".py": "python", ".yaml": "yaml"}  # of files, by their endings
ABREAST = 2  # cards
WORDS = (
    "Read a lab here, note your predictions, start its runs and answer its quiz; or open its notebook in JupyterLab."
)
EXERCISE = "You write this code in the lab's notebook, which checks it. `workshop labs copy {}` makes you one."
EVERY = 1.0  # seconds between looks at a run that hasn't ended
RECENT = 50  # of a learner's runs, among which those of a lab are looked for


def page() -> None:
    if show := {"glossary": _glossary, "dictionary": _dictionary}.get(st.query_params.get("show", "")):
        show()
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
    _paths({name: lab for name, (_, lab) in labs.items()}, identity)
    teaches = identity.role == "instructor" and not frame.recorded()
    if teaches:
        progress_by_lab = learner_home.class_words()
    else:
        begun = [progress for progress in learner_home.labs_of(identity) if progress.begun]
        progress_by_lab = {progress.lab.name: learner_home.lab_words(progress) for progress in begun}
    with st.container(border=True, key="labs"):
        for folder, lab in labs.values():
            _row(folder, lab, progress_by_lab.get(folder.name, ""), begun=not teaches)


def _row(folder: Path, lab: LabDescription, progress: str, begun: bool) -> None:
    """A lab on one line; its goals and what one needs are shown when one points at its title."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"lab-{folder.name}"):
        with st.container(width="stretch"):
            label = f"**{lab.number}** {frame.plain(lab.title)}"
            goals = "\n".join(f"- {goal}" for goal in lab.goals)
            about = f"{goals}\n\nYou need: {'; '.join(lab.needs)}" if lab.needs else goals
            frame.link("labs", label, None, {"lab": folder.name}, about)
        st.markdown(frame.plain(progress), width=230)
        st.markdown(f"{lab.minutes} min", width=70)
        label = "Go on" if begun and progress else "Open"
        frame.link("labs", label, ":material/menu_book:", {"lab": folder.name})
        st.link_button("Quiz", f"quiz/alone/{lab.deck}:lab", icon=":material/quiz:")


def _paths(labs: Mapping[str, LabDescription], identity: Identity) -> None:
    """Which labs fit which class, for those who teach."""
    if identity.role != "instructor" or not labs:
        return
    with blocks.errors(), st.expander("Which labs for how much time", icon=":material/route:"):
        for learning_path in catalogue.read():
            numbers = ", ".join(str(labs[name].number) for name in learning_path.labs if name in labs)
            hours = learning_path.minutes(labs) / 60
            st.markdown(
                f"**{frame.plain(learning_path.title)}** (labs {numbers}; {hours:.1f} hours). "
                f"For: {frame.plain(learning_path.audience)}. {frame.plain(learning_path.note)}"
            )
        st.caption("Hours are the labs alone. Plan ten minutes between two labs, and more for questions.")


def _glossary() -> None:
    frame.heading("Glossary", "The terms that the labs explain. Each one leads to the lab that explains it.")
    frame.link("labs", "All labs", ":material/arrow_back:")
    query = st.text_input("Find a term", key="term").strip().casefold()
    with blocks.errors():
        terms = [term for term in reading.read_terms() if query in f"{term.name} {term.text}".casefold()]
    if not terms:
        st.info(f"No lab explains {frame.plain(query[:40])}.")
    for term in terms:
        with st.container(horizontal=True):
            st.markdown(f"**{frame.plain(term.name)}**  \n{term.text.replace('**', '')}", width="stretch")
            frame.link("labs", "Lab", ":material/menu_book:", {"lab": term.lab, "section": reading.SECTION})


def _dictionary() -> None:
    frame.heading("Dictionary", "The steps of the recipe and the launch commands, in the words of several frameworks.")
    frame.link("labs", "All labs", ":material/arrow_back:")
    with blocks.errors():
        entries = reading.read_dictionary()
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
    """Draw the section that the address names, of a lab or of a further notebook."""
    identity: Identity = frame.heading(f"Lab {lab.number}: {lab.title}")
    if identity.role == "learner" and not frame.recorded():
        frame.store().keep_opened(learner.browser_name(frame.store(), identity), folder.name)
    with blocks.errors():
        titles = reading.further_titles(folder)
        name, place = _named_section(folder, titles)
        sections = _sections(folder, name)
        part = [titles[name]] if name else []
        auth_middleware.PRESENCE.turn(identity, ", ".join([*part, sections[place].title]))
        beside, text = st.columns([1, 3], gap="large")
        with beside, st.container(key="lab-contents"):
            frame.link("labs", "All labs", ":material/arrow_back:")
            if name:
                frame.link("labs", f"Lab {lab.number}: {frame.plain(lab.title)}", None, {"lab": folder.name})
            for number, label in enumerate(map(frame.plain, _headings(sections))):
                query = {**_address(folder, name), "part": str(number + 1)}
                frame.link("labs", f"**{label}**" if number == place else label, None, query)
            for other, title in titles.items():
                if other != name:
                    frame.link("labs", frame.plain(title), ":material/menu_book:", _address(folder, other))
        with text, st.container(key="lab-text"):
            if name:
                st.caption(frame.plain(titles[name]))
            _section(folder, lab, name, place, identity)


def _named_section(folder: Path, titles: Mapping[str, str]) -> tuple[str, int]:
    """The notebook and the place of the section that the address names: `?part=3` or `?section=Explain`, or the first
    one. The lab's own notebook has the name "". A heading without a notebook is searched for in all notebooks."""
    name = st.query_params.get("further", "")
    name, every = (name, [name]) if name in titles else ("", ["", *titles])
    heading = st.query_params.get("section")
    for notebook in every if heading else ():
        if heading in (headings := _headings(_sections(folder, notebook))):
            return notebook, headings.index(heading)
    return name, blocks.place("part", len(_sections(folder, name)))


def _address(folder: Path, name: str) -> dict[str, str]:
    """The query of a notebook's first section."""
    return {"lab": folder.name, "further": name} if name else {"lab": folder.name}


def _headings(sections: Sequence[LabSection]) -> list[str]:
    return [section.title.partition(". ")[2] for section in sections]


def _sections(folder: Path, name: str) -> tuple[LabSection, ...]:
    return _read(str(folder), name, reading.source_of(folder, name).stat().st_mtime)


@st.cache_data(show_spinner=False, max_entries=32)
def _read(folder: str, name: str, changed_at: float) -> tuple[LabSection, ...]:
    return reading.read(Path(folder), name)


def _section(folder: Path, lab: LabDescription, name: str, place: int, identity: Identity) -> None:
    sections = _sections(folder, name)
    section = sections[place]
    st.subheader(frame.plain(section.title.partition(". ")[2]), anchor=False)
    # The script scrolling.js goes to the top when data-place changes.
    section_place = f"{lab.number}-{name}-{place}"
    st.html(render("dashboard/section_number", place=section_place, number=place + 1, sections=len(sections)))
    session = frame.choose_session()
    for number, cell in enumerate(section.cells):
        _cell(cell, f"{folder.name}-{name}-{place}-{number}", folder.name, lab, session, identity)
    if "Predict" in section.title and not any(cell.predictions for cell in section.cells):
        st.caption("The fields for your guesses are in the next section.")
    _files(section)
    with st.container(horizontal=True):
        if place > 0 and st.button("Back", icon=":material/arrow_back:"):
            _turn(name, place - 1)
        if place + 1 < len(sections) and st.button("Next section", type="primary", icon=":material/arrow_forward:"):
            _turn(name, place + 1)
        if place + 1 == len(sections):
            for other_folder, other in catalogue.readable():
                if other.number == lab.number + (0 if name else 1):
                    label = f"Lab {other.number}: {frame.plain(other.title)}"
                    frame.link("labs", label, ":material/arrow_forward:", {"lab": other_folder.name})
            frame.link("labs", "All labs", ":material/menu_book:")


def _turn(name: str, place: int) -> None:
    st.query_params.pop("section", None)
    if name:
        st.query_params["further"] = name
    st.query_params["part"] = str(place + 1)
    st.rerun()


def _cell(
    cell: LabCell, key: str, lab_name: str, lab: LabDescription, session: SessionRecord | None, identity: Identity
) -> None:
    if cell.drawing:
        _drawing(cell)
        return
    if not cell.is_code:
        st.markdown(cell.text)
        return
    if cell.is_exercise:
        st.code(cell.text, language="python")
        st.caption(EXERCISE.format(lab_name))
        return
    for name in cell.predictions:
        _prediction(name, lab_name, lab, identity)
    _runs(cell.runs, key, session, identity)
    if cell.quiz:
        st.link_button(
            "Answer the quiz of this lab", f"quiz/alone/{lab.deck}:lab", icon=":material/quiz:", type="primary"
        )
        return
    with st.expander("Code in the notebook", icon=":material/code:"):
        st.code(cell.text, language="python")


def _drawing(cell: LabCell) -> None:
    path = lab_links.file(cell.drawing)
    if path is None:
        raise BadInput(f"The drawing {cell.drawing} is missing; it should stand beside the lab's notebook.")
    picture = pictures.load(path.parent, Picture(file=path.name, alt=cell.text or path.name))
    st.html(render("dashboard/drawing", uri=picture.uri, text=cell.text))


def _prediction(name: str, lab_name: str, lab: LabDescription, identity: Identity) -> None:
    """A field for a guess, which is kept until the learner changes it."""
    learner_name = learner.browser_name(frame.store(), identity)
    rows = frame.store().progress(learner_name, lab_name)
    stored = next((row.value for row in rows if row.kind == "prediction" and row.item == name), None)
    guess = stored.get("guess") if isinstance(stored, Mapping) else None
    start = float(guess) if isinstance(guess, int | float) and not isinstance(guess, bool) else None
    question = next(prediction for prediction in lab.predictions if prediction.id == name)
    value = predictions.field(NumberGuess(question.question, question.unit), f"guess-{lab_name}-{name}", start)
    if value is not None and value != start and not frame.recorded():
        frame.store().keep_prediction(learner_name, lab_name, name, guess=value)
        st.caption("Your guess is kept.")


def _runs(runs: Sequence[LabRun], key: str, session: SessionRecord | None, identity: Identity) -> None:
    """The runs of a cell: a button for each, the newest run that the visitor started with it, and a comparison."""
    newest = []
    for number, run in enumerate(runs):
        if run.workload in workloads():
            with st.container(border=True, key=f"lab-run-{key}-{number}"), blocks.errors():
                newest += _run(run, f"{key}-{number}", session, identity)
    if len(newest) > 1:
        frame.compare_link(record.id for record in newest[:2])


def _run(run: LabRun, key: str, session: SessionRecord | None, identity: Identity) -> list[RunRecord]:
    chosen = workloads()[run.workload]
    st.markdown(f"**{frame.plain(chosen.title)}**: {frame.plain(run.words)}")
    refusal = frame.not_up(session) or frame.plain(chosen.lacks() or "")
    pressed = st.button("Run this", icon=":material/play_arrow:", key=f"start-{key}", disabled=bool(refusal))
    if refusal:
        st.caption(refusal)
    if session is None:
        return []
    params, placement = actions.lab_run(run, session)
    if pressed:
        actions.submit(frame.store(), identity, session, run.workload, params, placement)
    own_runs = frame.store().runs(workload=run.workload, submitted_by=identity.nickname, limit=RECENT)
    stored_params = chosen.check(params).model_dump(mode="json")
    stored_placement = placement_in(session, placement).as_json()
    newest = [run for run in own_runs if run.params == stored_params and run.placement == stored_placement][:1]
    if newest:
        st.fragment(run_every=None if newest[0].ended else EVERY)(_run_line)(newest[0].id, newest[0].ended)
    return newest


def _run_line(run_id: int, ended: bool) -> None:
    """How a run stands: its place in the queue, its activity and progress, its verdict. `ended` says how it stood when
    the page was drawn; after its end nothing is drawn again."""
    run = frame.store().run(run_id)
    if run.ended and not ended:
        st.rerun()
    frame.run_links([run])
    if run.status == "queued":
        st.caption(frame.plain(turn(frame.store(), run)))
    elif run.ended:
        st.markdown(frame.plain((run.verdict or {}).get("verdict") or f"The run was {run.status}."))
    else:
        st.caption(frame.plain(ActivityReader(frame.store()).words(run)))
        done, total = run.progress or (0.0, 0.0)
        if total:
            st.progress(min(max(done / total, 0.0), 1.0))


def _files(section: LabSection) -> None:
    """The files to which a section links."""
    for link in section.links:
        path = lab_links.file(link)
        if path is not None:
            with st.expander(link, icon=":material/description:"):
                text = path.read_text(encoding="utf-8", errors="replace")
                st.markdown(text) if path.suffix == ".md" else st.code(text, language=LANGUAGES.get(path.suffix))
