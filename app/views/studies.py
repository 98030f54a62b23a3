"""Studies: the list of them, and one as it goes on. `?study=3` is a link to one."""

import time

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.pages import cards, frame
from workshop.pages.studies import download, follow
from workshop.report.cards import Card
from workshop.report.wording import waiting
from workshop.server.numbers import number
from workshop.store.records import Identity, StudyRecord
from workshop.study.cards import cards as cards_of
from workshop.study.cards import visible
from workshop.study.kinds import Report, any_report, example, expected, read, title
from workshop.study.trials import remaining

MOST = 100  # studies in the list
EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
STATE = {
    "running": ":blue[:material/sync:] goes on",
    "interrupted": ":orange[:material/pause_circle:] interrupted",
    "completed": ":green[:material/check_circle:] completed",
    "failed": ":red[:material/error:] failed",
    "recorded": ":gray[:material/history:] recorded",
}


def main() -> None:
    identity = frame.heading("Studies")
    studies = frame.store().studies(limit=MOST)
    wanted = _wanted()
    if not studies:
        st.info("No study yet. On the command line, this runs one:", icon=":material/info:")
        st.code(example(), language="bash")
        return
    shown = _list(studies, wanted or studies[0])
    every = EVERY if shown.state == "running" else None
    st.fragment(run_every=every)(_study)(shown.id, every is not None, identity)
    if shown.state == "interrupted":
        follow(shown)


def _wanted() -> StudyRecord | None:
    given = st.query_params.get("study")
    if given is None:
        return None
    try:
        return frame.store().study(number(given))
    except (WorkshopError, ValueError):
        st.warning(f"There is no study {frame.plain(given[:40])}; here are those there are.")
        return None


def _list(studies: list[StudyRecord], shown: StudyRecord) -> StudyRecord:
    """The list of studies; returns the one that is picked."""
    listed = studies if any(study.id == shown.id for study in studies) else [*studies, shown]
    ids = [study.id for study in listed]
    event = st.dataframe(
        {
            "Study": ids,
            "What": [words.capital(title(study)) for study in listed],
            "State": [study.state for study in listed],
            "Runs": [f"{study.done} of {_all_of(study)}" for study in listed],
            "Begun": [time.strftime("%d %b %H:%M", time.localtime(study.created_at)) for study in listed],
        },
        hide_index=True,
        height=min(36 * (len(listed) + 1) + 3, 220),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [ids.index(shown.id)]}},
        on_select="rerun",
        key="studies",
    )
    rows = [row for row in event.selection.rows if row < len(listed)]
    picked = listed[rows[0]] if rows else shown
    if rows:
        st.query_params["study"] = str(picked.id)
    return picked


def _all_of(study: StudyRecord) -> int:
    """How many runs it takes in all; one that goes on may want more than it has."""
    return study.trials if study.finished_at else expected(study, *read(frame.store(), study.id))


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _found(state: tuple[object, ...], _study: StudyRecord) -> tuple[Report, list[Card], int]:
    """What a study in this state has found, its cards, and how many trials it will have; made once for all visitors."""
    found = any_report(frame.store(), _study)
    return found, cards_of(found), expected(_study, found.trials, found.runs)


def _study(study_id: int, live: bool, identity: Identity) -> None:
    """One study; drawn again every few seconds while it goes on."""
    try:
        study = frame.store().study(study_id)
        found, shown, total = _found((study.id, study.created_at, study.state, study.done, study.failed), study)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    if live and study.state != "running":
        st.rerun()  # the whole page once more, which no longer asks
    _progress(found, total)
    mine = _for(identity, found, shown)
    cards.show_page(mine, f"study-{study.id}")
    if len(mine) == len(shown):
        download(found, shown)


def _for(identity: Identity, found: Report, shown: list[Card]) -> list[Card]:
    """The cards that somebody may see. A learner sees a prediction's outcome after a guess, or after a click on
    "show"."""
    if identity.role == "instructor":
        return shown
    mine, why = visible(frame.store(), identity.id, found, shown)
    if why:
        st.info(why)
    return mine


def _progress(found: Report, total: int) -> None:
    study = found.study
    left = remaining(found.trials, found.runs, time.time(), total) if study.state == "running" else None
    ahead = "" if left is None else f" · {waiting(left)} left" if left >= 5 else " · nearly done"
    settings = _settings(study)
    st.markdown(
        f"### {frame.plain(words.capital(title(study)))}\n\n"
        f"{STATE[study.state]} · {study.done} of {total} runs{ahead}{frame.plain(settings and f' · {settings}')}"
    )
    if study.finished_at is None:
        st.progress(min(study.done / max(total, 1), 1.0))
    if study.state == "interrupted":
        st.info(f"Nobody works on this study. It goes on with `workshop study resume {study.id}`.")


def _settings(study: StudyRecord) -> str:
    """The settings that differ from the defaults, and the threads of a rank where all trials have the same number."""
    from workshop.core.forms import named
    from workshop.registry import workloads

    params = study.description.get("params")
    known = workloads().get(study.workload)
    if known is None or not isinstance(params, dict):
        return ""
    defaults = {name: field.default for name, field in known.params.model_fields.items()}
    changed = {name: value for name, value in params.items() if name in defaults and defaults[name] != value}
    told = [f"{name} {value}" for name, value in named(known.params, changed).items()]
    placed = study.description.get("placement") or {}
    if "threads" in placed and "cores_per_rank" in placed:
        told.append(f"{words.count(placed['threads'] or placed['cores_per_rank'], 'thread')} per rank")
    return ", ".join(told)


main()
