"""The guided study as a whole: how far it is, and running all of it. Its single steps use it as well."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.pages import frame, studies
from workshop.report.wording import waiting
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study.guided import wanting
from workshop.study.guided.expecting import by_step
from workshop.study.guided.kind import PathReport, path_report
from workshop.study.guided.plan import STEPS, Estimate
from workshop.study.guided.planning import going_on, total
from workshop.study.kinds import Sofar
from workshop.study.trials import remaining

EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
WHERE = "The instructor runs the steps; what they find appears here by itself."


@dataclass(frozen=True)
class Seen:
    """A guided study as it is now, made once for all visitors."""

    report: PathReport
    total: int
    expected: dict[str, Estimate]  # by step, what it would still take

    @property
    def left(self) -> Estimate:
        """What all steps would still take."""
        return _sum(self.expected.values())

    @property
    def wanted(self) -> Estimate:
        """What those steps would still take that were asked for."""
        return _sum(self.expected[step] for step in self.report.setting.steps)


def _sum(told: Iterable[Estimate]) -> Estimate:
    told = list(told)
    return Estimate(sum(one.runs for one in told), sum(one.seconds for one in told))


def seen(study_id: int) -> Seen:
    """The study as it is now. Raises BadInput where there is none."""
    study = frame.store().study(study_id)
    return _seen((study.id, study.created_at, study.state, study.trials, study.done, study.failed), study)


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _seen(state: tuple[object, ...], _study: StudyRecord) -> Seen:
    report = path_report(frame.store(), _study)
    sofar = Sofar(_study, report.trials, report.runs)
    return Seen(report, total(sofar), by_step(frame.store(), sofar))


def head(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """How far it is; looked at again every few seconds while it goes on."""
    going = studies.live(study)
    st.fragment(run_every=EVERY if going else None)(_head)(study.id, session, identity, going)


def _head(study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    try:
        now = seen(study_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    study = now.report.study
    with studies.how_far(study, going, _far(now, going), study.done / max(now.total, 1), "tuning-head"):
        if identity.role == "instructor":
            _buttons(now, session, identity, going)
        elif not going:
            st.caption(WHERE)


def _far(now: Seen, going: bool) -> str:
    """Where the study is, in a line."""
    report = now.report
    done = sum(one.state == "done" for one in report.steps)
    words = [f"**Study {report.study.id}**, {report.setting.name}: {done} of {len(report.steps)} steps measured"]
    trial = going_on(report.found)
    if going:
        words.append(f"run {report.study.done + 1} of {max(now.total, report.study.done + 1)}")
        if trial is not None:
            words.append(f"now {frame.plain(trial.label)}")
        left = remaining(report.trials, report.runs, time.time(), now.total)
        words.append(f"{waiting(now.wanted.seconds if left is None else left)} left")
        return f":blue[:material/sync:] {' · '.join(words)}"
    if now.left.runs:
        words.append(f"all that is missing: about {now.left.runs} runs, {waiting(now.left.seconds)}")
        return " · ".join(words)
    return f":green[:material/check_circle:] {words[0]}"


def _buttons(now: Seen, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    study_id = now.report.study.id
    with st.container(horizontal=True, vertical_alignment="center"):
        if going:
            studies.stop_button(study_id, identity)
            return
        if session is None or not session.up:
            st.markdown(frame.plain(frame.not_up(session)))
        elif now.left.runs and st.button("Run all that is missing", icon=":material/play_arrow:", key="tuning-all"):
            run(study_id, STEPS, session, identity)
        studies.begin_another("tuning-new")


def run(study_id: int, steps: str, session: SessionRecord, identity: Identity) -> None:
    """Have these steps run; the page then follows."""
    studies.run(study_id, session, identity, lambda: wanting.want(frame.store(), study_id, steps))
