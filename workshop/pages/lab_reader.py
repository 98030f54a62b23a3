"""A lab in the browser: one section at a time, with its predictions, its runs and its quiz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course import learner, reading
from workshop.course import links as lab_links
from workshop.course.description import LabDescription
from workshop.course.reading import LabCell, LabRun, LabSection
from workshop.pages import blocks, frame, links
from workshop.quiz import pictures
from workshop.quiz.parts import Picture
from workshop.registry import workloads
from workshop.runtime.client import placement_in
from workshop.server import actions
from workshop.store.records import Identity, RunRecord, SessionRecord

EXERCISE = "You write this code in the notebook of the lab. The notebook checks it."
RECENT = 50  # of a learner's runs, among which those of a lab are looked for


@st.cache_data(show_spinner=False, max_entries=32)
def _sections(folder: str, changed_at: float) -> tuple[LabSection, ...]:
    return reading.read(Path(folder))


def show(folder: Path, lab: LabDescription, identity: Identity) -> None:
    """Draw the section of a lab that the address names, `?part=3` or `?section=Explain`, or the first one."""
    with blocks.errors():
        sections = _sections(str(folder), (folder / reading.source.FILE).stat().st_mtime)
        place = _place([section.title for section in sections])
        title = st.selectbox(
            "Section", [section.title for section in sections], place, key=f"section-{lab.number}-{place}"
        )
        section = next(section for section in sections if section.title == title)
        if section is not sections[place]:
            _turn(sections.index(section))
        session = frame.choose_session()
        for number, cell in enumerate(section.cells):
            _cell(cell, f"{folder.name}-{place}-{number}", folder.name, lab, session, identity)
        if "Predict" in section.title and not any(cell.predictions for cell in section.cells):
            st.caption("The fields for your guesses are in the next section.")
        _files(section)
        with st.container(horizontal=True):
            if place > 0 and st.button("Back", icon=":material/arrow_back:"):
                _turn(place - 1)
            if place + 1 < len(sections) and st.button("Next section", type="primary", icon=":material/arrow_forward:"):
                _turn(place + 1)


def _place(titles: Sequence[str]) -> int:
    """The place of the section that the address names, from 0."""
    heading = st.query_params.get("section", "")
    for place, title in enumerate(titles):
        if heading and title.partition(". ")[2] == heading:
            return place
    text = st.query_params.get("part", "1")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 1
    return min(max(number, 1), len(titles)) - 1


def _turn(place: int) -> None:
    st.query_params.pop("section", None)
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
        st.caption(EXERCISE)
        return
    for name in cell.predictions:
        _prediction(name, lab_name, identity)
    _runs(cell.runs, key, session, identity)
    if cell.quiz:
        st.link_button(
            "Answer the quiz of this lab", f"/quiz/alone/{lab.deck}:lab", icon=":material/quiz:", type="primary"
        )
        return
    with st.expander("Code in the notebook", icon=":material/code:"):
        st.code(cell.text, language="python")


def _drawing(cell: LabCell) -> None:
    path = lab_links.file(cell.drawing)
    if path is None:
        raise BadInput(f"The drawing {cell.drawing} is missing; it should stand beside the lab's notebook.")
    picture = pictures.load(path.parent, Picture(file=path.name, alt=cell.text or path.name))
    st.html(f'<img src="{picture.uri}" alt="{escape(cell.text)}" style="max-width: 100%; background: white">')


def _prediction(name: str, lab_name: str, identity: Identity) -> None:
    """A field for a guess, which is kept until the learner changes it."""
    learner_name = learner.browser_name(frame.store(), identity)
    rows = frame.store().progress(learner_name, lab_name)
    stored = next((row.value for row in rows if row.kind == "prediction" and row.item == name), None)
    guess = stored.get("guess") if isinstance(stored, Mapping) else None
    start = float(guess) if isinstance(guess, int | float) and not isinstance(guess, bool) else None
    label = f"Your guess for {name.replace('-', ' ')}"
    value = st.number_input(label, value=start, placeholder="your guess", key=f"guess-{lab_name}-{name}", width=320)
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
        links.compare_link(record.id for record in newest[:2])


def _run(run: LabRun, key: str, session: SessionRecord | None, identity: Identity) -> list[RunRecord]:
    chosen = workloads()[run.workload]
    st.markdown(f"**{frame.plain(chosen.title)}**: {frame.plain(run.words)}")
    refusal = frame.not_up(session) or frame.plain(chosen.lacks() or "")
    pressed = st.button("Run this", icon=":material/play_arrow:", key=f"start-{key}", disabled=bool(refusal))
    if refusal:
        st.caption(refusal)
    if session is None:
        return []
    params = {name: value for name, value in run.settings.items() if name in chosen.params.model_fields}
    fields = {name: value for name, value in run.settings.items() if name in Placement.model_fields}
    placement = {**session.placement, **fields}
    if pressed:
        actions.submit(frame.store(), identity, session, run.workload, params, placement)
    own_runs = frame.store().runs(workload=run.workload, submitted_by=identity.nickname, limit=RECENT)
    stored_params = chosen.check(params).model_dump(mode="json")
    stored_placement = placement_in(session, placement).as_json()
    newest = [run for run in own_runs if run.params == stored_params and run.placement == stored_placement][:1]
    links.run_links(newest)
    return newest


def _files(section: LabSection) -> None:
    """The files to which a section links."""
    for link in section.links:
        path = lab_links.file(link)
        if path is not None:
            with st.expander(link, icon=":material/description:"):
                text = path.read_text(encoding="utf-8", errors="replace")
                st.markdown(text) if path.suffix == ".md" else st.code(text, language=_language(path))


def _language(path: Path) -> Any:
    return {".py": "python", ".yaml": "yaml"}.get(path.suffix)
