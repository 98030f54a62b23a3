"""A run: set it up, start it, watch it. `?run=ID` is a link to one. `&again=ID` fills in the form to continue that run,
and `&change=1` with the first change that its verdict recommends. `?workload=NAME` begins with that workload,
`&preset=2` with its second preset. `&projector=1` shows the run in large type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from workshop.core.errors import BadInput
from workshop.core.forms import going_on, param_of_runs
from workshop.extension import Preset, RunPrediction, Workload
from workshop.mpi.tool_interface import COUNTING
from workshop.registry import first_workload, workloads
from workshop.report.actions import actions as recommended
from workshop.report.analysis import findings
from workshop.store.records import Identity, Limits, RunRecord, SessionRecord
from workshop.study.guided import kind
from workshop.study.guided.kind import Answer, NumberGuess
from workshop.study.kinds import run_estimate
from workshop.web import actions, classroom
from workshop.web.pages import blocks, classroom_bar, frame, predictions
from workshop.web.pages.fields import UPLOAD, Uploads, model_form, placement_form
from workshop.web.pages.live import run_view

LONGEST_NOTE = 1000  # characters
RECENT = 8  # runs that are listed
EVERY = 2.0  # seconds between looks whether the run still runs
START_EVERY = 5.0  # seconds between looks at whether the session still takes runs
ABOUT_GUESS = "It is kept with the run, and you see it above the run. Nobody has to predict."
Settings = tuple[str, Mapping[str, Any], Mapping[str, Any], Uploads]  # workload, params, placement, uploaded files
FILLED_IN = ("workload", "preset", "again", "change")  # of the address, what the form begins with


def page() -> None:
    if classroom_bar.requested():
        if run := blocks.linked("run", frame.store().run, "*All runs* shows those there are"):
            classroom_bar.run_screen(run)
        return
    identity = frame.heading("New run" if "run" not in st.query_params else "Run")
    session = frame.choose_session()
    run = blocks.linked("run", frame.store().run, "*All runs* shows those there are")
    if run is None:
        main, form = st.columns([13, 5], gap="medium")
        with main:
            _nothing_chosen(session)
        with form, st.container(border=True, key="go-on"):
            _form_or_why(session, identity, None)
        return
    filled_in = bool({"again", "change"} & set(st.query_params))
    first = st.container()  # on a phone, a form that is filled in comes before the run
    st.fragment(run_every=None if run.ended else EVERY)(_prediction)(run.id, run.ended, identity)
    run_view(run.id, identity)
    if identity.role == "instructor" and not run.ended and not frame.recorded():
        st.fragment(run_every=EVERY)(_kill)(run.id, identity)
    _pin(run, identity)
    _note(run, identity)
    place = first if filled_in else st.container()
    with place.container(key="drawer"), st.expander(f"New run, from run {run.id}", filled_in, icon=":material/tune:"):
        _form_or_why(session, identity, run)


def _form_or_why(session: SessionRecord | None, identity: Identity, run: RunRecord | None) -> None:
    """The form for a new run, or the reason why no run can be started."""
    if frame.recorded() or session is None:
        st.markdown(frame.not_up(session))
    elif identity.role == "instructor" and session.state in ("stopped", "failed"):
        st.markdown(frame.plain(f"Session {session.name} is {session.state}."))
        blocks.start_again(session, identity)
    else:
        _form(session, identity, run)


def _kill(run_id: int, identity: Identity) -> None:
    """A form to kill a rank of a run while it runs."""
    run = frame.store().run(run_id)
    ranks = [report["rank"] for report in (run.rank_map or {}).get("ranks", [])]
    if run.status != "running" or not ranks:
        return
    with (
        st.expander("Kill a rank", icon=":material/bolt:"),
        st.container(horizontal=True, vertical_alignment="bottom"),
        blocks.errors(),
    ):
        rank = st.selectbox("Rank", ranks, width=120)
        if st.button("Kill it", help="SIGKILL: the process ends at once, as when its host fails"):
            actions.kill_rank(frame.store(), identity, run.id, rank)
            st.toast(f"Rank {rank} is killed within a second or two.")


def _pin(run: RunRecord, identity: Identity) -> None:
    """For the instructor, a button that has the projector show this run, or follow the class again."""
    if identity.role != "instructor" or frame.recorded():
        return
    pinned = classroom.pinned_run(frame.store()) == run.id
    label = "Let the projector follow the class" if pinned else "Show this run on the projector"
    about = "The projector shows a pinned run until you pin another one or take the pin back."
    if st.button(label, icon=":material/cast:", help=about):
        classroom.pin_run(frame.store(), identity, None if pinned else run.id)
        st.rerun()


def _note(run: RunRecord, identity: Identity) -> None:
    """A form for the note on the run, for those who may write it."""
    author = actions.note_author(identity, run)
    if author is None or frame.recorded():
        return
    with st.expander("Write a note on this run", icon=":material/edit_note:"), st.form(f"note-{run.id}", border=False):
        text = st.text_area(
            "Note, which all who open this run can read",
            frame.store().notes(run.id).get(author, ""),
            max_chars=LONGEST_NOTE,
        )
        if st.form_submit_button("Save the note"):
            with blocks.errors():
                actions.write_note(frame.store(), identity, run.id, text)
                st.success("The note is saved.")


def _nothing_chosen(session: SessionRecord | None) -> None:
    """All workloads as cards in the order in which they are taught, whose buttons fill in the form; the latest runs."""
    if not frame.recorded():
        st.subheader("Set up a run and start it", anchor=False)
        st.markdown(
            "Choose what the ranks should compute, set it up on the form, or take one of its presets. "
            "What they find appears here while they work."
        )
        with st.container(key="workload-cards"):
            for column, (name, workload) in blocks.abreast(list(workloads().items()), 2):
                with column, st.container(border=True, height="stretch"):
                    st.markdown(f"**{frame.plain(_title(name))}**\n\n{frame.plain(workload.summary)}")
                    if not workload.lacks() and st.button("Set up", key=f"set-up-{name}", icon=":material/tune:"):
                        _fill_in(workload=name)
    latest = frame.store().runs(session_id=session.id, limit=RECENT) if session else []
    if latest:
        st.markdown("**Watch one of the latest:**" if frame.recorded() else "**Or watch one of the latest:**")
    frame.run_links(latest)


def _form(session: SessionRecord, identity: Identity, run: RunRecord | None) -> None:
    """The form for a new run and its placement; it begins with a preset, or with the settings of the `run` that is
    shown."""
    chosen = _workload(run)
    st.caption(chosen.summary)
    if lacks := chosen.lacks():
        st.warning(frame.plain(lacks))
        return
    limits = session.limits if identity.role == "learner" else None
    preset = _preset(chosen, session, limits)
    changes = recommended(run) if run is not None and chosen.name == run.workload else ()
    change = {str(number): action for number, action in enumerate(changes, 1)}.get(st.query_params.get("change", ""))
    if run is not None and change is not None:
        run = replace(run, params={**run.params, **change.params}, placement={**run.placement, **change.placement})
        st.info(f"These are the settings of run {run.id}, with {frame.plain(change.words)}.", icon=":material/redo:")
    key = f"-preset-{st.query_params['preset']}" if preset else ""
    if run is not None and change is not None:
        key = f"-{run.id}-change-{st.query_params['change']}"
    with blocks.errors():
        key_of_guess = f"prediction-{chosen.name}-{run.id if run is not None else ''}"  # each run gets one of its own
        prediction = chosen.prediction and predictions.field(_guess(chosen.prediction), key_of_guess, about=ABOUT_GUESS)
        values, uploads = _params(chosen, run, preset, f"params-{chosen.name}{key}")
        st.markdown("#### Where it runs")
        begin = run.placement if run is not None and preset is None else session.placement
        begin = {**begin, **(preset.placement_on(_cores(session)) if preset else {})}
        most = {"ranks": limits.ranks, "threads": limits.threads, "cores_per_rank": limits.threads} if limits else {}
        placement = placement_form(begin, f"placement{key}", most=most)
        placement = _counting(placement, f"matrix{key}")
        settings = (chosen.name, values, placement, uploads)  # not yet checked
        st.fragment(run_every=START_EVERY)(_start)(session.name, identity, settings, prediction)


def _counting(placement: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A switch for counting messages; returns the placement with what that needs."""
    environment = dict(placement["environment"])
    counts = COUNTING.items() <= environment.items()
    help_ = "Open MPI counts the messages between every two ranks; the run's page draws them. Counting takes some time."
    if st.toggle("Count the messages between ranks", counts, key=key, help=help_):
        environment |= COUNTING
    elif counts:
        environment = {name: value for name, value in environment.items() if name not in COUNTING}
    return {**placement, "environment": environment}


def _workload(run: RunRecord | None) -> Workload:
    """The workload that somebody chooses; a choice stands in the address."""
    names = list(workloads())
    wanted_name = st.query_params.get("workload") or (run.workload if run is not None else "")
    begin = names.index(wanted_name if wanted_name in names else first_workload().name)
    name = names[0] if len(names) == 1 else st.selectbox("Workload", names, begin, format_func=_title)
    if name != names[begin]:
        _fill_in(workload=name)
    return workloads()[name]


def _title(name: str) -> str:
    """A workload's name in the list, with a mark where it can't run on this machine."""
    workload = workloads()[name]
    return f"{workload.title} (not installed)" if workload.lacks() else workload.title


def _fill_in(**values: str) -> None:
    """Draw the page again with a form that begins with these values of the address."""
    for name in FILLED_IN:
        st.query_params.pop(name, None)
    st.query_params.update(values)
    st.rerun()


def _preset(workload: Workload, session: SessionRecord, limits: Limits | None) -> Preset | None:
    """Buttons for the workload's presets, without those that need more ranks than the visitor may have. Returns the
    preset that the address names."""
    cores, most = _cores(session), limits.ranks if limits else None
    presets = {
        str(number): preset
        for number, preset in enumerate(workload.presets, 1)
        if most is None or preset.placement_on(cores).get("ranks", 1) <= most
    }
    chosen = st.query_params.get("preset")
    with st.container(horizontal=True, gap="small", key="presets"):
        for number, preset in presets.items():
            kind = "primary" if number == chosen else "secondary"
            if st.button(preset.title, key=f"preset-{workload.name}-{number}", help=preset.shows, type=kind):
                _fill_in(workload=workload.name, preset=number)
    if (preset := presets.get(chosen or "")) is not None:
        st.caption(f":material/visibility: {frame.plain(preset.shows)}")
    return preset


def _cores(session: SessionRecord) -> int:
    """The cores of all hosts of a session; 0 while nobody knows them."""
    cores = {unit["core"] for unit in session.machine.get("units", ())}
    return len(cores) * max(len(session.placement.get("hosts") or ()), 1)


def _start(session: str, identity: Identity, settings: Settings, prediction: float | None) -> None:
    """The button that starts the run, with the estimate of its time; while the session takes none, it can't be pressed,
    and the form says why."""
    with st.container(key="start", gap="small"):
        now = frame.store().session(session)
        why = frame.not_up(now)
        workload, params, placement, uploads = settings
        estimate = run_estimate(frame.store(), workload, params, placement["ranks"])
        if identity.role == "learner" or now.limits.everybody:
            estimate += f" This session ends a run after {now.limits.minutes:g} minutes."
        st.caption(why or f":material/timer: {frame.plain(estimate)}")
        refusal = st.container()
        pressed = st.button(
            "Start the run", type="primary", width="stretch", icon=":material/play_arrow:", disabled=bool(why)
        )
        with refusal, blocks.errors():
            if pressed:
                for name, value in params.items():
                    if value == UPLOAD and name not in uploads:
                        raise BadInput(f"{name.capitalize()}: choose a file to upload first.")
                started = actions.submit(frame.store(), identity, now, *settings)
                if prediction is not None:
                    frame.store().keep_guess(identity.id, f"run:{started.id}", {"guess": prediction})
                _fill_in(run=str(started.id))


def _prediction(run_id: int, ended: bool, identity: Identity) -> None:
    """The prediction of a visitor about a run, and once the run has ended, the measured value. `ended` says how it
    stood when the page was drawn; after its end nothing is drawn again."""
    stored, run = frame.store().guess(identity.id, f"run:{run_id}"), frame.store().run(run_id)
    if run.ended and not ended:
        st.rerun()
    question = workloads()[run.workload].prediction if run.workload in workloads() else None
    if stored is None or question is None:
        return
    ask, guess, measured = _guess(question), stored.value["guess"], run.metrics.get(question.metric)
    sentence = f"You guessed {kind.in_words(ask, guess)}."
    if findings.number(measured):
        sentence = kind.score(ask, guess, Answer(question.scale * measured))
    st.info(frame.plain(sentence), icon=":material/psychology:")


def _guess(question: RunPrediction) -> NumberGuess:
    return NumberGuess(question.question, question.unit)


def _params(
    workload: Workload, run: RunRecord | None, preset: Preset | None, key: str
) -> tuple[dict[str, object], Uploads]:
    """The form of the workload's params; its values and the files that somebody uploads."""
    if preset is not None:
        return model_form(workload.params, preset.params, key)
    same_workload = run is not None and run.workload == workload.name
    start_values = dict(run.params) if same_workload else {}
    resumes = param_of_runs(workload.params)
    if resumes:
        # A run that went on from another one is not what the next one should begin with, unless somebody says so.
        continues = same_workload and st.query_params.get("again") == str(run.id)
        start_values[resumes] = str(run.id) if continues else ""
        if continues:
            start_values = going_on(workload.params, start_values)
            st.info(f"This is filled in to go on from run {run.id}.", icon=":material/redo:")
    values, uploads = model_form(workload.params, start_values, key)
    if resumes and values.get(resumes):
        st.caption(f":material/redo: It goes on from run {frame.plain(str(values[resumes]))}.")
    return values, uploads
