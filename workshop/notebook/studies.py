"""Studies from a notebook: planned as the command line plans them, run in the session that it holds, shown at the end.

A study that was stopped goes on where it was when the same is asked for again.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.course import learner
from workshop.extension import Workload, load
from workshop.notebook import display
from workshop.notebook.display import MACROS, ResultDisplay, StatusLine
from workshop.notebook.request import CellStopped, dashboard, parted, plain, progress_share, unknown
from workshop.notebook.shown import ShownVerdict
from workshop.registry import studies
from workshop.registry import workload as workload_of
from workshop.report import html
from workshop.sessions import client
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study import kinds, runner
from workshop.study.cards import cards as cards_of
from workshop.study.trials import Plan

if TYPE_CHECKING:
    import pandas as pd


MINUTES = 30.0  # that one of its runs may take
RECENT = 50  # studies among which one's own that was stopped is looked for


def study(store: Store, record: SessionRecord, kind: str, workload: str | None, names: Mapping[str, Any]) -> StudyShown:
    """Run a study of a `kind` to its end.

    "scaling" takes `workload`, `ranks` (a list), `weak`, `repeats`; "grid" `workload`, `vary` (name -> values),
    `repeats` and `weak`; "ways" `seeds`. Each takes `minutes`, the longest time of a run, and beyond that the settings
    of the workload and the fields of a placement, as `session.run` does. Raises BadInput, CellStopped after the
    stop button, WorkshopError where the session is gone.
    """
    wanted_kind = studies().get(kind)
    if wanted_kind is None or not wanted_kind.plan:
        if wanted_kind is not None and (elsewhere := kinds.kind(kind).elsewhere):
            raise BadInput(f"{words.capital(kind)} isn't run in a notebook; it is {elsewhere}.")
        planned = sorted(kind_of_study.name for kind_of_study in studies().values() if kind_of_study.plan)
        raise BadInput(f"There is no kind of study {kind!r} for notebooks; there are {', '.join(planned)}.")
    settings = {name: plain(value) for name, value in names.items()}
    named = settings.pop("workload", None) if workload is None else workload
    if not (named := named or wanted_kind.workload):
        raise BadInput(f"Of which workload? Give its name, such as session.study({kind!r}, 'kmeans').")
    chosen = workload_of(named)
    minutes = settings.pop("minutes", MINUTES)
    if not isinstance(minutes, int | float) or not 0.01 <= minutes <= 1440:
        raise BadInput(f"minutes is {minutes!r}: it should be a number from 0.01 to 1440.")
    whose = learner.identity(store)
    planned_study = load(wanted_kind.plan)(store, record, chosen, settings)
    check(store, record, chosen, planned_study, whose)
    nickname = whose.nickname if whose else ""
    earlier = runner.same_studies(store, planned_study, RECENT)
    stopped = (same for same in earlier if same.submitted_by == nickname and same.state != "running")
    chosen_study = next(stopped, None) or runner.begin(store, planned_study, nickname)
    return _run(store, record, chosen_study.id, whose, minutes)


class StudyShown(ResultDisplay):
    """A study and its results so far."""

    def __init__(self, store: Store, number: int) -> None:
        self.store = store
        self.id = number

    @property
    def record(self) -> StudyRecord:
        return self.store.study(self.id)

    @cached_property
    def report(self) -> kinds.Report:
        return kinds.report(self.store, self.record)

    @property
    def status(self) -> str:
        return self.record.state

    @property
    def verdict(self) -> ShownVerdict:
        return ShownVerdict(self.report.verdict)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each of its runs."""
        import pandas as pd  # takes a second

        from workshop.study import export

        return pd.read_csv(io.StringIO(export.table(self.report)))

    @property
    def name(self) -> str:
        return f"Study {self.id}"

    @property
    def _title(self) -> str:
        now = self.record
        far = f"{now.done} of {words.count(kinds.expected(self.report), 'run')}"
        failed = f", {now.failed} failed" if now.failed else ""
        return f"Study {now.id}: {kinds.title(now)} · {now.state}, {far}{failed}"

    def words(self) -> str:
        return f"{self._title}\n{self.verdict}"

    def head(self) -> str:
        lines = [self.title_line(self._title), *self.verdict.lines()]
        return html.box("".join(lines), "good" if self.status == "completed" else "nearly")

    @property
    def address(self) -> str | None:
        return dashboard(f"/studies?study={self.id}")

    @cached_property
    def figures_by_name(self) -> dict[str, go.Figure]:
        return display.figures(cards_of(self.report))


def _run(store: Store, session: SessionRecord, number: int, whose: Identity | None, minutes: float) -> StudyShown:
    line = StatusLine()

    def look(now: runner.Progress) -> None:
        line.update(*_going_on(number, now))

    try:
        with runner.working_on(store, number) as me:
            runner.renew_failed(store, number, every=False)
            if waiting := runner.trials_to_run(store, number):
                runner.check_place(number, waiting, runner.read(store, number)[1].values(), session)
                runner.run_study(store, number, me, session, look, minutes * 60, whose)
            else:
                runner.finish(store, number, me)
    except KeyboardInterrupt:
        now = store.study(number)
        far = f"{now.done} of {now.trials} runs done"
        sentence = f"Study {number} was stopped with {far}; the same call goes on with it."
        line.say(sentence)
        raise CellStopped(sentence) from None
    except BadInput:
        raise
    except WorkshopError as error:
        raise WorkshopError(f"{error} In another session the same call goes on with study {number}.") from None
    study_shown = StudyShown(store, number)
    study_shown.show_at(line)
    return study_shown


def _going_on(number: int, now: runner.Progress) -> tuple[str, str]:
    share = progress_share(now.run)
    state = now.waits or "waits" if now.run.status == "queued" else words.percent(share)
    if not share and now.run.activity:
        state = now.run.activity["words"]
    remaining = "" if now.seconds_left is None else f", about {words.long(now.seconds_left)} left"
    sentence = f"Study {number}: {now.done} of {now.total} runs done{remaining}"
    what = f"run {now.run.id} ({now.trial.label}): {state}"
    return f"{sentence}; {what}", html.box(MACROS.going_on(sentence, what, now.done + share, max(now.total, 1)))


def check(store: Store, session: SessionRecord, chosen: Workload, planned_study: Plan, whose: Identity | None) -> None:
    """Refuse settings that no run could use. Raises BadInput."""
    for cell in planned_study.cells:
        if cell.why:  # a trial that can't be, which says so
            continue
        placement = client.placement_in(session, cell.placement)
        params = chosen.check(cell.params)
        if whose is not None:
            client.check_limits(placement, session.limits, chosen.processes(params) if chosen.processes else 0)
        client.inputs_of(store, chosen, params, placement)


def parted_for(
    chosen: Workload, settings: Mapping[str, Any], own_names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Params and fields; a name that is neither may be meant for the study."""
    for name in settings:
        elsewhere = name in chosen.params.model_fields or name in Placement.model_fields
        if not elsewhere and get_close_matches(name, own_names, 1, 0.8):
            raise unknown(name, own_names, "a setting of the study")
    return parted(chosen, settings)


def whole_number(name: str, value: Any) -> int:
    if isinstance(value := plain(value), bool) or not isinstance(value, int):
        raise BadInput(f"{name} is {value!r}: it should be a whole number.")
    return value
