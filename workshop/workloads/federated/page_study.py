"""A study of three ways on its page: its form, how far it is, starting and stopping it, and what it has found."""

from __future__ import annotations

import time
from typing import Any, get_args

import streamlit as st

from workshop.core import words
from workshop.extension import Workload
from workshop.pages import blocks, cards, frame, studies
from workshop.pages.studies import begin_another, download, how_far, live, run, stop_button
from workshop.registry import workloads
from workshop.report.cards import Card
from workshop.report.sentences import waiting
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study.kinds import Sofar
from workshop.study.trials import remaining
from workshop.workloads.federated import page_prediction
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study.cards import cards as cards_of
from workshop.workloads.federated.study.kind import WaysReport, seconds, ways_report
from workshop.workloads.federated.study.plan import MEASURES, SEEDS, SETTINGS

TASKS = {"federated": "Handwritten digits", "segmentation": "Tumours in scans"}
PARTITIONS = {
    "dirichlet": "in very different shares",
    "label": "few digits each",
    "iid": "all alike",
    "unequal": "many to some, few to others",
    "shift": "each with a scanner of its own",
}
MOST_SEEDS = 20  # that the page offers
EVERY = 2.0  # seconds after which a study that goes on is looked at again; all visitors share a look
SOON = 5.0  # seconds that are not worth telling
WHERE = "The instructor starts the runs; what they learn appears here by itself, round by round."
EXPLAIN = (
    "**Why federated learning comes close.** An update says in which direction the weights should go for an "
    "institution's images. Averaged over institutions, weighted by their images, that is nearly the direction for all "
    "images together, as long as nobody goes far before the next average.",
    "**Why alone looks good at home.** An institution that has few kinds of image has an easy task there, and its own "
    "validation images are as one-sided as those it learns from. Held-out images have all kinds.",
    "**What this doesn't show.** Updates are not images, but they are made of them: the parts below recover a digit "
    "from one, and then protect it.",
)


def form(session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form; learners are told to wait."""
    if identity.role != "instructor":
        st.info("The instructor has not prepared the three ways yet.", icon=":material/hourglass_empty:")
        return
    known = {name: workloads()[name] for name in MEASURES if name in workloads()}
    with st.container(border=True, key="federated-begin"), blocks.errors():
        st.markdown("#### Prepare the three ways")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out.")
        name = st.segmented_control(
            "Task", list(known), default=next(iter(known)), required=True, format_func=lambda one: TASKS[one]
        )
        chosen = known[name]
        given, seeds = _given(chosen)
        wanted = plan.checked(frame.store(), chosen, given, seeds, session)
        told, why = plan.expected(frame.store(), wanted)
        st.markdown(f"**{wanted.seeds} runs**, about **{words.long(told)}** in all ({frame.plain(why)}).")
        if st.button("Prepare it", type="primary", icon=":material/diversity_3:"):
            studies.begin(lambda: plan.begin(frame.store(), wanted, identity.nickname), identity)


def _given(chosen: Workload) -> tuple[dict[str, Any], int]:
    """What all runs have in common, and how many there are."""
    preset, fields = SETTINGS[chosen.name], chosen.params.model_fields
    given: dict[str, Any] = {}
    if "partition" in fields:
        options = [one for one in get_args(fields["partition"].annotation) if one in PARTITIONS]
        begin = preset.get("partition", fields["partition"].default)
        given["partition"] = st.selectbox(
            "How images are dealt", options, index=options.index(begin), format_func=lambda one: PARTITIONS[one]
        )
    columns = st.columns(3)
    for column, (name, most) in zip(columns, (("institutions", 16), ("rounds", 200)), strict=False):
        if name in fields:
            with column:
                start = preset.get(name, fields[name].default)
                given[name] = st.number_input(
                    name.capitalize(), 1, max(most, start), start, help=fields[name].description
                )
    with columns[2]:
        seeds = st.number_input("Seeds", 1, MOST_SEEDS, SEEDS, help="runs of all three ways, each with luck of its own")
    return given, int(seeds)


def head(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """How far it is; looked at again every few seconds while it goes on."""
    going = live(study)
    st.fragment(run_every=EVERY if going else None)(_head)(study.id, session, identity, going)


def seen(study_id: int) -> tuple[WaysReport, list[Card]]:
    """The study as it is now, and its cards. Raises BadInput where there is none."""
    study = frame.store().study(study_id)
    return _seen((study.id, study.created_at, study.state, study.trials, study.done, study.failed), study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _seen(state: tuple[object, ...], _study: StudyRecord) -> tuple[WaysReport, list[Card]]:
    """Made once for all visitors."""
    report = ways_report(frame.store(), _study)
    return report, cards_of(report)


def _head(study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    with blocks.errors():
        report, _ = seen(study_id)
        study = report.study
        share = _done(report) / max(study.trials, 1)
        with how_far(study, going, _far(report, going), share, "federated-head"):
            if identity.role == "instructor":
                _buttons(report, session, identity, going)
            elif not going and study.finished_at is None:
                st.caption(WHERE)


def _far(report: WaysReport, going: bool) -> str:
    """Where the study is, in two lines."""
    study, known = report.study, workloads().get(report.study.workload)
    task = known.title if known is not None else study.workload
    far = [f"**Study {study.id}**, {frame.plain(task)}: {study.done} of {words.count(study.trials, 'seed')}"]
    if going:
        if report.now is not None:
            round_ = max((max(curve) for curve in report.now.curves.values() if curve), default=0)
            far.append(f"seed {report.now.seed} in round {round_ or 1} of {report.rounds}")
        left = remaining(report.trials, report.runs, time.time())
        far += [] if left is None else [f"{waiting(left)} left" if left >= SOON else "nearly done"]
        far[0] = f":blue[:material/sync:] {far[0]}"
    elif study.finished_at is not None:
        far[0] = f":green[:material/check_circle:] {far[0]}"
    else:
        told, why = seconds(frame.store(), Sofar(study, report.trials, report.runs))
        far.append(f"what is missing takes about {words.long(told)} ({frame.plain(why)})")
    return f"{' · '.join(far)}\n\n{frame.plain(setting(report))}"


def setting(report: WaysReport) -> str:
    """What institutions there are, and how they learn, in a line."""
    params = report.params
    partition = params.get("partition")
    more = {"dirichlet": f" (alpha {params.get('alpha')})", "label": f" ({params.get('classes')} of ten)"}
    how = [words.count(params["institutions"], "institution"), words.count(params["rounds"], "round")]
    how += [f"{words.thousands(params['images'])} images"] if params.get("images") else []
    how += [f"images dealt {PARTITIONS.get(partition, partition)}{more.get(partition, '')}"] if partition else []
    return f"{', '.join(how)}; {words.count(report.study.description['seeds'], 'seed')} from {params['seed']} on."


def _done(report: WaysReport) -> float:
    """Seeds that are over, with the part of the one that goes on."""
    now = report.runs.get(report.now.run) if report.now is not None else None
    part = now.progress[0] / now.progress[1] if now is not None and now.progress and now.progress[1] else 0.0
    return report.study.done + min(part, 1.0)


def _buttons(report: WaysReport, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    study = report.study
    with st.container(horizontal=True, vertical_alignment="center"):
        if going:
            stop_button(study.id, identity)
            return
        if study.finished_at is None:
            if session is None or not session.up:
                st.markdown(frame.plain(frame.not_up(session)))
            else:
                label = "Run all seeds" if not study.done else "Run what is missing"
                if st.button(label, type="primary", icon=":material/play_arrow:", key="federated-run"):
                    run(study.id, session, identity)
        begin_another("federated-new")


def see(study: StudyRecord, identity: Identity) -> None:
    """What it has found so far, drawn anew every few seconds while it goes on."""
    st.markdown("#### :material/visibility: See")
    going = live(study)
    st.fragment(run_every=EVERY if going else None)(_see)(study.id, identity)


def _see(study_id: int, identity: Identity) -> None:
    with blocks.errors():
        report, shown = seen(study_id)
        if not report.found and report.now is None:
            st.caption("Nothing has been learned yet.")
            return
        page_prediction.score(report, identity)
        cards.show_page(shown, f"federated-{study_id}")
        if report.study.finished_at is None:
            return
        if identity.role == "instructor":
            page_prediction.everybody(report)
        download(report, shown)


def explain() -> None:
    """What is behind it, for those who have seen it."""
    st.markdown("#### :material/lightbulb: Explain")
    st.markdown("\n\n".join(EXPLAIN))
