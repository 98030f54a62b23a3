"""Studies: the list of them, and one as it goes on. `?study=3` is a link to one."""

import time

import streamlit as st
from parts import frame
from parts.cards import FIGURE, table

from workshop.analysis import words
from workshop.analysis.balance import PHASES
from workshop.errors import WorkshopError
from workshop.figures import scaling
from workshop.figures.curves import number
from workshop.store.records import StudyRecord
from workshop.study.report import ScalingReport, report, title
from workshop.study.trials import remaining
from workshop.web.words import grouped, waiting

MOST = 100  # studies in the list
EVERY = 3.0  # seconds after which a study that goes on is looked at again; all visitors share a look
STATE = {
    "running": ":blue[:material/sync:] goes on",
    "interrupted": ":orange[:material/pause_circle:] interrupted",
    "completed": ":green[:material/check_circle:] completed",
    "failed": ":red[:material/error:] failed",
}
COMMAND = "workshop study run scaling --workload mnist --ranks 1,2,4"


def main() -> None:
    frame.heading("Studies")
    studies = frame.store().studies(limit=MOST)
    wanted = _wanted()
    if not studies:
        st.info("No study yet. On the command line, this runs one:", icon=":material/info:")
        st.code(COMMAND, language="bash")
        return
    shown = _list(studies, wanted or studies[0])
    every = EVERY if shown.state == "running" else None
    st.fragment(run_every=every)(_study)(shown.id, every is not None)


def _wanted() -> StudyRecord | None:
    given = st.query_params.get("study")
    if given is None:
        return None
    try:
        return frame.store().study(int(given))
    except (WorkshopError, ValueError):
        st.warning(f"There is no study {frame.plain(given[:40])}; here are those there are.")
        return None


def _list(studies: list[StudyRecord], shown: StudyRecord) -> StudyRecord:
    """The list of studies; returns the one that is picked."""
    listed = studies if any(study.id == shown.id for study in studies) else [*studies, shown]
    ids = [study.id for study in listed]
    event = st.dataframe(
        {
            "Study": [f"{study.id}" for study in listed],
            "What": [title(study) for study in listed],
            "State": [study.state for study in listed],
            "Runs": [f"{study.done} of {study.trials}" for study in listed],
            "Failed": [str(study.failed or "") for study in listed],
            "Who": [study.submitted_by or "command line" for study in listed],
            "When": [time.strftime("%d %b %H:%M", time.localtime(study.created_at)) for study in listed],
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


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _report(state: tuple[object, ...], _study: StudyRecord) -> ScalingReport:
    """What a study in this state has found; made once for all visitors."""
    return report(frame.store(), _study)


def _study(study_id: int, live: bool) -> None:
    """One study; drawn again every few seconds while it goes on."""
    try:
        study = frame.store().study(study_id)
        found = _report((study.id, study.created_at, study.state, study.done, study.failed), study)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    if live and study.state != "running":
        st.rerun()  # the whole page once more, which no longer asks
    _progress(found)
    _verdict(found)
    _figures(found)
    _rows(found)
    _runs(found)


def _progress(found: ScalingReport) -> None:
    study = found.study
    left = remaining(found.trials, found.runs, time.time()) if study.state == "running" else None
    ahead = "" if left is None else f" · {waiting(left)} left" if left >= 5 else " · nearly done"
    st.markdown(
        f"### {frame.plain(words.capital(title(study)))}\n\n"
        f"{STATE[study.state]} · {study.done} of {study.trials} runs{ahead} · {frame.plain(_settings(found))}"
    )
    if study.finished_at is None:
        st.progress(study.done / max(study.trials, 1))
    if study.state == "interrupted":
        st.info(f"Nobody works on this study. It goes on with `workshop study resume {study.id}`.")


def _settings(found: ScalingReport) -> str:
    """What was set otherwise than by default, and how each number of ranks is placed."""
    from workshop.workloads import workloads

    params = found.study.description["params"]
    known = workloads().get(found.study.workload)
    defaults = {name: field.default for name, field in known.params.model_fields.items()} if known else {}
    changed = [f"{name} {value}" for name, value in params.items() if defaults.get(name, value) != value]
    threads = found.rows[0].threads if found.rows else 1
    return ", ".join([*changed, f"{words.count(threads, 'thread')} per rank"])


def _verdict(found: ScalingReport) -> None:
    said = {part: frame.plain(text) for part, text in found.verdict.items()}
    with st.container(border=True):
        st.markdown(f"#### {said['verdict']}\n\n{said['why']}\n\n**Next:** {said['next']}")


def _figures(found: ScalingReport) -> None:
    key = f"study-{found.study.id}"
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("#### Speed-up")
        st.plotly_chart(scaling.speed_up(found.rows, found.references), key=f"{key}-speed-up", **FIGURE)
        st.markdown("#### Throughput")
        st.plotly_chart(scaling.throughput(found.rows, found.unit), key=f"{key}-throughput", **FIGURE)
    with right:
        st.markdown("#### Efficiency")
        st.plotly_chart(scaling.efficiency(found.rows, height=360), key=f"{key}-efficiency", **FIGURE)
        st.markdown("#### Where the ranks' time went")
        st.plotly_chart(scaling.shares(found.rows), key=f"{key}-shares", **FIGURE)
    for one in found.references:
        st.caption(f"{frame.plain(one.name)}: {frame.plain(one.figures)}. *{frame.plain(one.source)}*")


def _rows(found: ScalingReport) -> None:
    st.markdown("#### Figures")
    headings = [
        "Ranks",
        f"Median {found.unit}",
        "Lowest to highest",
        "Speed-up",
        "Of ideal",
        *map(str.capitalize, PHASES),
    ]
    rows = []
    for row in found.rows:
        cells = ["–"] * 4
        if row.throughput is not None:
            cells = [
                _rate(row.throughput),
                f"{_rate(min(row.rates))} to {_rate(max(row.rates))}",
                f"{row.speed_up or 0.0:.2f}x",
                words.percent(row.efficiency or 0.0),
            ]
        shares = ["–" if share is None else words.percent(share) for share in row.shown_shares.values()]
        rows.append([str(row.ranks), *cells, *shares])
    table(headings, rows)


def _runs(found: ScalingReport) -> None:
    st.markdown("#### Runs")
    told = [found.trial_json(trial) for trial in found.trials]
    st.dataframe(
        {
            "Run": [f"/run?run={one['run']}" if one["run"] else None for one in told],
            "Placement": [one["label"] for one in told],
            "Round": [one["repeat"] for one in told],
            "Status": [one["status"] for one in told],
            found.unit.capitalize(): [_rate(one["rate"]) if _is_number(one["rate"]) else "" for one in told],
            "Why not": [_why(one["error"]) for one in told],
        },
        column_config={"Run": st.column_config.LinkColumn(display_text=r"run=(\d+)", width=60)},
        hide_index=True,
        height=min(36 * (len(told) + 1) + 3, 420),
        key=f"runs-of-{found.study.id}",
    )


def _rate(value: float) -> str:
    return grouped(round(value)) if 1e3 <= value < 1e6 else number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _why(error: dict[str, object] | None) -> str:
    return f"{error['type']}: {error['message']}" if error else ""


main()
